// Reads the wrapper source of a package into call sites: the calls of a run in order, with every argument
// under PyTorch's printed name (wrapper_info.hpp). Accepts any text without crashing or hanging.
// reading_limits.hpp bounds its memory. Never throws.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/wrapper_info.hpp"

namespace aoti_dbg {

/// The texts of one package. Each may be empty.
struct WrapperTexts {
    std::string_view wrapper;                      // X.wrapper.cpp
    std::vector<std::string_view> kernel_sources;  // *.kernel.cpp, for prototypes
    std::string_view extern_nodes;                 // X.wrapper.json: the ops of the proxy executor
    std::string_view kernel_information;           // kernel_information.json
};

WrapperInfo read_call_sites(const WrapperTexts& texts);

/// Reads the files beside `so_path`. The result is empty if there is no wrapper source.
WrapperInfo read_call_sites_of(const std::string& so_path);

}  // namespace aoti_dbg

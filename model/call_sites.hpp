// Reads the wrapper source of a package into call sites: what a run calls, in order, with every argument
// under the name that PyTorch prints for it (wrapper_info.hpp). Takes any text: no crash, no hang, memory
// bounded by reading_limits.hpp. Never throws.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/wrapper_info.hpp"

namespace aoti_dbg {

/// The texts of a package that belong together; each may be empty.
struct WrapperTexts {
    std::string_view wrapper;  // X.wrapper.cpp
    std::vector<std::string_view>
        kernel_sources;                   // *.kernel.cpp: prototypes that the wrapper does not repeat
    std::string_view extern_nodes;        // X.wrapper.json: the ops behind the proxy executor
    std::string_view kernel_information;  // kernel_information.json
};

WrapperInfo read_call_sites(const WrapperTexts& texts);

/// The same from the files beside `so_path`; nothing in it if there is no wrapper source.
WrapperInfo read_call_sites_of(const std::string& so_path);

}  // namespace aoti_dbg

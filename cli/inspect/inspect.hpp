// `aoti-dbg inspect`: prints a model's inputs, kernels and constants from its files, without loading it.
#pragma once

#include <string>
#include <vector>

#include "cli/inspect/inspected_model.hpp"

namespace aoti_dbg::cli {

struct InspectRequest {
    std::string path;
    std::string kernel;  // print the source of this one; empty for the model
    bool is_json = false;
    bool is_all = false;  // no limit of printed lines
};

/// Returns the exit code: 0, or 1 if the file cannot be read or has no such kernel.
int inspect(const InspectRequest& request);

std::string inspect_text(const std::vector<InspectedModel>& models, const std::string& path, bool is_all);
std::string inspect_json(const std::vector<InspectedModel>& models, const std::string& path);

/// Returns "PyTorch 2.10 or 2.11", by the functions that the library defines.
std::string release_text(const ModelLibrary& library);

}  // namespace aoti_dbg::cli

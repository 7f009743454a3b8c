// Reads an output folder into a page. Files may be damaged, and any text in them is untrusted.
#pragma once

#include <string>

#include "base/status.hpp"
#include "cli/page/page_data.hpp"
#include "cli/page/recorded_folder.hpp"
#include "model/torch_trace.hpp"

namespace aoti_dbg::cli {

struct PageRequest {
    std::string folder;
    std::string page_folder;  // where the page will be; links are relative to it
    bool is_confidential = false;
    const TorchTrace* torch_trace = nullptr;
};

/// Fails if no process is recorded there.
Result<Page> read_page(const PageRequest& request);

}  // namespace aoti_dbg::cli

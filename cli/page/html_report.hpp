// `aoti-dbg report --html`: one HTML file about a recording, or about how it differs from another one.
#pragma once

#include <string>

namespace aoti_dbg::cli {

struct HtmlRequest {
    std::string folder;
    std::string second;  // the page is about this one, compared with `folder`; empty: about `folder`
    std::string output;  // empty: report.html in the folder that the page is about
    bool is_confidential = false;
    std::string torch_trace;  // a folder with logs of TORCH_TRACE; empty: none
};

/// Returns the exit code.
int html_report(const HtmlRequest& request);

}  // namespace aoti_dbg::cli

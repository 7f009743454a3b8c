// Reads what one process recorded into a page's rows and findings.
#pragma once

#include <string>
#include <vector>

#include "cli/page/page_data.hpp"
#include "cli/page/recorded_folder.hpp"
#include "triage/judge/recorded_process.hpp"

namespace aoti_dbg::cli {

/// The files of a process. Paths can be empty.
struct PageProcessFiles {
    std::vector<std::string> events;
    std::vector<std::string> timelines;
    std::string index;         // of saved tensors
    RecordedProcess recorded;  // without a ring if there is none
};

/// Adds the process to the page.
void read_process(const PageProcessFiles& files, Page& page);

}  // namespace aoti_dbg::cli

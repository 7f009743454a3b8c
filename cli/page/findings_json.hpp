// Renders the parts of a page's JSON that come before its rows: the verdict, findings, processes, models,
// sources, and the differences to another recording.
#pragma once

#include <string>

#include "cli/page/page_data.hpp"
#include "cli/page/row_json.hpp"

namespace aoti_dbg::cli {

/// Returns text that begins with the brace of the page's object.
std::string head_json(const Page& page);
/// These return text that begins with a comma.
std::string findings_json(const Page& page, const RowJson& rows);
std::string diff_json(const Page& page, const RowJson& rows);
std::string recorded_json(const Page& page, const std::vector<std::string>& left_out);

}  // namespace aoti_dbg::cli

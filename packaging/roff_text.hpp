// Text for a man page, from plain text and from the Markdown of config/options.def. Knows paragraphs, lists,
// tables of two columns, code and links. Must not know any option.
#pragma once

#include <string>
#include <string_view>

namespace aoti_dbg::packaging {

/// Escapes plain text.
std::string roff(std::string_view text);

std::string bold(std::string_view text);
std::string italic(std::string_view text);

/// Returns one paragraph without its end of line. A line never begins with a request.
std::string roff_paragraph(std::string_view markdown);

/// Returns lines for the body of a tagged paragraph (.TP).
std::string roff_body(std::string_view markdown);

}  // namespace aoti_dbg::packaging

// See wrapped.hpp.
#include "cli/wrapped.hpp"

#include <algorithm>

namespace aoti_dbg::cli {

void append_wrapped(std::string_view first, std::string_view indent, std::string_view text, std::size_t width,
                    std::string& out) {
    std::string_view begin = first;
    while (!text.empty()) {
        const std::size_t room = width - begin.size();
        std::size_t cut = text.size() <= room ? text.size() : text.rfind(' ', room);
        if (cut == std::string_view::npos || cut == 0) cut = std::min(text.find(' '), text.size());
        out.append(begin).append(text.substr(0, cut)).append("\n");
        text.remove_prefix(std::min(cut + 1, text.size()));
        begin = indent;
    }
}

}  // namespace aoti_dbg::cli

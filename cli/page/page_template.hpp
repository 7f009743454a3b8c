// The page without its data, as built from page.html and the files beside it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aoti_dbg::cli {

extern const unsigned char kPageTemplate[];
extern const std::size_t kPageTemplateSize;

/// What the data replaces.
inline constexpr std::string_view kDataMark = "__DATA__";

/// Puts the data into the page.
inline std::string page_with(std::string_view data) {
    const std::string_view page(reinterpret_cast<const char*>(kPageTemplate), kPageTemplateSize);
    const std::size_t mark = page.find(kDataMark);
    std::string text(page.substr(0, mark));
    if (mark != std::string_view::npos) text.append(data).append(page.substr(mark + kDataMark.size()));
    return text;
}

}  // namespace aoti_dbg::cli

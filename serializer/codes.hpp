// The stable codes of findings, verdicts and errors: what each means and how to fix it. Text only; it must
// decide nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "serializer/finding.hpp"

namespace aoti_dbg {

struct CodeInfo {
    std::uint32_t number = 0;
    std::string_view title;
    std::string_view meaning;
    std::string_view example;
    std::string_view remedy;  // one step per line
};

/// Returns the codes by number.
std::span<const CodeInfo> all_codes();

/// Accepts "AD1203", "ad1203" or "1203". Returns null if there is no such code.
const CodeInfo* find_code(std::string_view text);

/// "AD1203"
std::string code_text(std::uint32_t number);

/// Returns the code for the finding's kind and check. Returns 0 if this release does not know them, because
/// another release may have written them.
std::uint32_t code_of(const Finding& finding);

}  // namespace aoti_dbg

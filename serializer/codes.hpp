// The stable codes of findings, verdicts and errors: what each means and what to do. Texts only; decides
// nothing.
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
    std::string_view remedy;  // a step a line
};

/// By number.
std::span<const CodeInfo> all_codes();

/// "AD1203", "ad1203" or "1203"; null for no code.
const CodeInfo* find_code(std::string_view text);

/// "AD1203"
std::string code_text(std::uint32_t number);

/// Of a kind and a check that this release knows; 0 for others, which another release may have written.
std::uint32_t code_of(const Finding& finding);

}  // namespace aoti_dbg

#include "serializer/codes.hpp"

#include <algorithm>
#include <charconv>

namespace aoti_dbg {
namespace {

constexpr CodeInfo kCodes[] = {
#define AOTI_DBG_CODE(number, title, meaning, example, remedy) {number, title, meaning, example, remedy},
#include "serializer/codes.def"
#undef AOTI_DBG_CODE
};

struct CodeOfCheck {
    std::string_view check;
    std::uint32_t number;
};
constexpr CodeOfCheck kChecks[] = {{"dtype", 1201},
                                   {"device", 1202},
                                   {"size", 1203},
                                   {"rank", 1204},
                                   {"stride", 1205},
                                   {"memory", 1206},
                                   {"alignment", 1207},
                                   {"storage", 1208},
                                   {"result", 1209},
                                   {"constants", 1210},
                                   {kOrderCheck, 1301},
                                   {"number of inputs", 1211},
                                   {"update of the constants", 1210}};

}  // namespace

std::span<const CodeInfo> all_codes() {
    return kCodes;
}

const CodeInfo* find_code(std::string_view text) {
    if (text.size() > 2 && (text.starts_with("AD") || text.starts_with("ad"))) text.remove_prefix(2);
    std::uint32_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return nullptr;
    const auto* const found =
        std::ranges::find_if(kCodes, [number](const CodeInfo& code) { return code.number == number; });
    return found == std::end(kCodes) ? nullptr : found;
}

std::string code_text(std::uint32_t number) {
    return "AD" + std::to_string(number);
}

std::uint32_t code_of(const Finding& finding) {
    switch (finding.kind) {
        case Finding::Kind::inf:
            return 1101;
        case Finding::Kind::nan:
            return 1102;
        case Finding::Kind::input_nan:
            return 1103;
        case Finding::Kind::weight_nan:
            return 1104;
        case Finding::Kind::argument:
            break;
    }
    const auto* const found = std::ranges::find_if(
        kChecks, [&finding](const CodeOfCheck& known) { return known.check == finding.check; });
    return found == std::end(kChecks) ? 0 : found->number;
}

}  // namespace aoti_dbg

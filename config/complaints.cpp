// See complaints.hpp.
#include "config/complaints.hpp"

#include "config/words.hpp"

namespace aoti_dbg {

std::string explanation(const OptionInfo& info, std::string_view value, const Fault& fault,
                        std::string_view instead) {
    std::string text = "expected " + std::string(info.values) + ", got " + quoted(value);
    if (!fault.why.empty()) text += ": " + fault.why;
    text += '.';
    if (!instead.empty()) text += " " + std::string(instead) + ".";
    if (!fault.suggestion.empty()) text += " Did you mean \"" + fault.suggestion + "\"?";
    return text;
}

}  // namespace aoti_dbg

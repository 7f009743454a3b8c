// See completion_text.hpp.
#include "packaging/completion_text.hpp"

namespace aoti_dbg::packaging {

std::string shell_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::vector<std::string> names_with_value(const DescribedCommand& command) {
    std::vector<std::string> names;
    for (const DescribedOption& option : command.options)
        if (option.kind != ValueKind::none)
            names.insert(names.end(), option.names.begin(), option.names.end());
    return names;
}

std::vector<std::string> all_names(const DescribedCommand& command) {
    std::vector<std::string> names;
    for (const DescribedOption& option : command.options)
        names.insert(names.end(), option.names.begin(), option.names.end());
    return names;
}

}  // namespace aoti_dbg::packaging

// Recognizes Python interpreters.
#pragma once

#include <string_view>

namespace aoti_dbg {

/// Checks the name of the executable: python, python3.12.
inline bool is_python(std::string_view program) {
    return program.substr(program.rfind('/') + 1).starts_with("python");
}

}  // namespace aoti_dbg

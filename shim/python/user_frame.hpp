// The user's line that called a compiled function, from the frames of the interpreter. Only for runs that a
// report or a finding may need: it costs about two microseconds.
#pragma once

#include <cstdint>
#include <string>

#include "shim/python/python_api.hpp"

namespace aoti_dbg::python {

/// A line of the user's Python code.
struct UserLine {
    Reference code{nullptr};
    std::int64_t line = 0;
    [[nodiscard]] bool is_known() const { return static_cast<bool>(code); }
    /// Returns `File "train.py", line 8, in step`.
    [[nodiscard]] std::string text() const;
};

/// The innermost frame must be that of the wrapper. A backward is called by autograd, and not by a function
/// that Dynamo compiled. Nothing is known in a thread of autograd's own.
UserLine calling_line(bool is_backward);

}  // namespace aoti_dbg::python

// Appends text to a file through a mapping, with a system call only when the file grows. A growth step is as
// long as the file, between kFirstStep and kLargestStep. Steps are filled with newlines, so the file is valid
// text at any time. cut() removes the rest. Long text is written directly, which costs less than filling a
// step for it. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "shim/record/preallocated_file.hpp"

namespace aoti_dbg {

class MappedText {
  public:
    static constexpr std::size_t kFirstStep = std::size_t{64} * 1024;
    static constexpr std::size_t kLargestStep = std::size_t{1024} * 1024;

    /// Text that exceeds the step by at least this much is written directly.
    static constexpr std::size_t kLong = std::size_t{8} * 1024;

    explicit MappedText(PreallocatedFile file) : file_(std::move(file)) {}
    ~MappedText();
    MappedText(MappedText&& other) noexcept;
    MappedText& operator=(MappedText&&) = delete;

    /// Appends all of the text, or nothing if there is no room. Keeps errno.
    Status append(const char* text, std::size_t length);
    /// Does the same if the file need not grow, and otherwise returns false.
    [[nodiscard]] bool append_to_step(const char* text, std::size_t length) {
        if (length > step_bytes_ - used_) return false;
        memcpy(step_ + used_, text, length);
        used_ += length;
        return true;
    }

    /// Truncates the file to the appended text. Do not append afterwards.
    Status cut();

    [[nodiscard]] const char* path() const { return file_.path().c_str(); }

  private:
    void leave_step(const char* text);

    PreallocatedFile file_;
    char* step_ = nullptr;  // the mapped part
    std::size_t step_bytes_ = 0;
    std::size_t used_ = 0;
};

}  // namespace aoti_dbg

// Text that is appended to a file through a mapping: no system call but where the file grows. It does so in
// steps, each as long as the file is, between kFirstStep and kLargestStep, and filled with newlines, so that
// the file is text at any moment; cut() takes the rest away. What is long is written, which costs less than
// to fill a step for it. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "shim/record/preallocated_file.hpp"

namespace aoti_dbg {

class MappedText {
  public:
    static constexpr std::size_t kFirstStep = std::size_t{64} * 1024;
    static constexpr std::size_t kLargestStep = std::size_t{1024} * 1024;

    /// What goes beyond the step by so much is written.
    static constexpr std::size_t kLong = std::size_t{8} * 1024;

    explicit MappedText(PreallocatedFile file) : file_(std::move(file)) {}
    ~MappedText();
    MappedText(MappedText&& other) noexcept;
    MappedText& operator=(MappedText&&) = delete;

    /// All of it, or, where it has no room, nothing. Keeps errno.
    Status append(const char* text, std::size_t length);

    /// Cuts the file to what was appended; nothing may be appended afterwards.
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

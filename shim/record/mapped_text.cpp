#include "shim/record/mapped_text.hpp"

#include <algorithm>
#include <cstring>

#include "base/errno_keeper.hpp"

namespace aoti_dbg {

MappedText::~MappedText() {
    if (step_ != nullptr) PreallocatedFile::unmap(step_, step_bytes_);
}

MappedText::MappedText(MappedText&& other) noexcept
    : file_(std::move(other.file_)),
      step_(std::exchange(other.step_, nullptr)),
      step_bytes_(std::exchange(other.step_bytes_, 0)),
      used_(std::exchange(other.used_, 0)) {}

Status MappedText::append(const char* text, std::size_t length) {
    if (length == 0 || append_to_step(text, length)) return {};
    const std::size_t room = step_bytes_ - used_;
    const ErrnoKeeper keeper;
    // Write the part beyond the step first. If that fails, nothing is written, and no partial line remains.
    const std::size_t rest = length - room;
    if (rest >= kLong) {
        Status written = file_.append(text + room, rest);
        if (written.ok()) leave_step(text);
        return written;
    }
    const std::size_t bytes = std::clamp(file_.size() / kPageBytes * kPageBytes, kFirstStep, kLargestStep);
    const Result<char*> mapped = file_.extend(bytes, '\n');
    if (!mapped.ok()) return mapped.status();
    leave_step(text);
    memcpy(mapped.value(), text + room, rest);
    step_ = mapped.value();
    step_bytes_ = bytes;
    used_ = rest;
    return {};
}

/// Fills the rest of the step with the start of `text` and unmaps it.
void MappedText::leave_step(const char* text) {
    if (step_ == nullptr) return;
    memcpy(step_ + used_, text, step_bytes_ - used_);
    PreallocatedFile::unmap(step_, step_bytes_);
    step_ = nullptr;
    step_bytes_ = used_ = 0;
}

Status MappedText::cut() {
    if (step_ == nullptr) return {};
    const std::size_t unused = step_bytes_ - used_;
    PreallocatedFile::unmap(step_, step_bytes_);
    step_ = nullptr;
    step_bytes_ = used_ = 0;
    return unused == 0 ? Status() : file_.truncate(file_.size() - unused);
}

}  // namespace aoti_dbg

#include "shim/save/held_messages.hpp"

#include <utility>

#include "shim/runtime/deadline_lock.hpp"

namespace aoti_dbg {

void HeldMessages::say(Severity severity, std::string line) {
    const std::lock_guard lock(mutex_);
    if (held_ < lines_.size()) lines_[held_++] = {severity, std::move(line)};
    has_some_.store(true, std::memory_order_release);
}

void HeldMessages::print() {
    // The lock is held while printing, so that no message is lost when another thread ends the process.
    if (!has_some_.load(std::memory_order_acquire) || !lock_with_deadline(mutex_)) return;
    for (; printed_ < held_; ++printed_)
        message(lines_[printed_].severity, "%s", lines_[printed_].text.c_str());
    has_some_.store(false, std::memory_order_relaxed);
    mutex_.unlock();
}

}  // namespace aoti_dbg

#include "shim/save/save_status.hpp"

#include <chrono>
#include <utility>

#include "base/terminal_line.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/deadline_lock.hpp"
#include "shim/runtime/own_thread.hpp"

namespace aoti_dbg {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{500};
constexpr int kForLine = 500;  // milliseconds; standard error may be a full pipe
// A save shows up after one second and counts as over after one second without activity.
constexpr unsigned kBusyLooks = 3;
constexpr unsigned kQuietLooks = 2;

}  // namespace

void SaveStatus::start(Ask ask) {
    ask_ = std::move(ask);
    shows_ = open_terminal_line();
    (void)start_own_thread(run, this);
}

void SaveStatus::say(Severity severity, std::string line) {
    const std::lock_guard lock(mutex_);
    if (said_ < lines_.size()) lines_[said_++] = {severity, std::move(line)};
    lines_there_.notify_one();
}

void SaveStatus::tell() {
    // The thread that prints now also prints later lines, or end() does.
    if (!telling_.try_lock()) return;
    print_all();
    telling_.unlock();
}

void SaveStatus::print_all() {
    while (lock_with_deadline(mutex_)) {
        const Line* const line = told_ < said_ ? &lines_[told_++] : nullptr;
        mutex_.unlock();
        if (line == nullptr) return;
        message(line->severity, "%s", line->text.c_str());
    }
}

void SaveStatus::end() {
    // Waits for the thread, because a line that it took but did not print would be lost at process exit.
    const bool is_alone = lock_with_deadline(telling_, kForLine);
    print_all();
    if (is_alone) telling_.unlock();
    if (shows_) close_terminal_line();
    // A thread that is about to sleep holds the lock, unless the fatal signal interrupted it.
    const bool locked = lock_with_deadline(mutex_);
    is_over_.store(true, std::memory_order_relaxed);
    lines_there_.notify_all();
    if (locked) mutex_.unlock();
}

void* SaveStatus::run(void* save_status) {
    name_own_thread();
    static_cast<SaveStatus*>(save_status)->work();
    return nullptr;
}

void SaveStatus::work() {
    const auto has_to_act = [this] { return told_ < said_ || is_over_.load(std::memory_order_relaxed); };
    auto next_look = std::chrono::steady_clock::now() + kBetweenLooks;
    while (!is_over_.load(std::memory_order_relaxed)) {
        {
            std::unique_lock lock(mutex_);
            if (shows_) {
                lines_there_.wait_until(lock, next_look, has_to_act);
            } else {
                lines_there_.wait(lock, has_to_act);
            }
        }
        {
            const std::lock_guard lock(telling_);
            print_all();
        }
        if (!shows_ || std::chrono::steady_clock::now() < next_look) continue;
        look();
        next_look = std::chrono::steady_clock::now() + kBetweenLooks;
    }
}

/// Shows the line while a save lasts.
void SaveStatus::look() {
    const SaveProgress progress = ask_();
    const bool is_busy =
        progress.jobs_left != 0 || progress.bytes_left != 0 || progress.bytes_handled != handled_then_;
    handled_then_ = progress.bytes_handled;
    quiet_looks_ = is_busy ? 0 : quiet_looks_ + 1;
    if (quiet_looks_ >= kQuietLooks) {
        if (busy_looks_ >= kBusyLooks) hide_terminal_line();
        busy_looks_ = 0;
        pace_.forget();
        return;
    }
    pace_.note(progress, monotonic_nanoseconds());
    if (++busy_looks_ >= kBusyLooks) show(progress);
}

void SaveStatus::show(const SaveProgress& progress) {
    ProgressText text;
    const char* const hint = hint_.load(std::memory_order_acquire);
    if (hint == nullptr) {
        add_saved(text.add("aoti-dbg: "), progress, pace_);
    } else {
        add_left(text.add("aoti-dbg: saving: "), progress, pace_).add(hint);
    }
    show_terminal_line(text.text());
}

}  // namespace aoti_dbg

// Says what threads cannot say that have descriptors of their own (own_descriptors.hpp), and shows on a
// terminal how far a long save is. A thread with the program's descriptors does it; where none can be made,
// lines are told by whoever comes by, and nothing is shown.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "base/message.hpp"
#include "shim/save/save_progress.hpp"

namespace aoti_dbg {

class SaveStatus {
  public:
    /// Asked about twice a second, by the thread.
    using Ask = std::function<SaveProgress()>;

    /// At most once, by a thread whose standard error is the program's. Never freed afterwards: the thread is
    /// inside until end().
    void start(Ask ask);

    /// From any thread.
    void say(Severity severity, std::string line);
    /// What was said and not told yet, by the calling thread, whose standard error is the program's. Waits
    /// for no lock without a deadline.
    void tell();

    /// From here on it is shown what is left, not what was done. `hint` says what may be done about it, and
    /// outlives this.
    void set_ending(const char* hint) { hint_.store(hint, std::memory_order_release); }
    /// Nothing is shown any more, and what was, is gone; what was said is told. Waits for no lock without a
    /// deadline.
    void end();

  private:
    static void* run(void* save_status);
    void print_all();
    void work();
    void look();
    void show(const SaveProgress& progress);

    struct Line {
        Severity severity = Severity::warn;
        std::string text;
    };
    std::mutex telling_;  // held while lines are written; taken before the other
    std::mutex mutex_;
    std::condition_variable lines_there_;
    std::array<Line, 16> lines_;  // each of ours is said once
    std::size_t said_ = 0;
    std::size_t told_ = 0;

    Ask ask_;
    bool shows_ = false;  // there is a terminal
    std::atomic<const char*> hint_{nullptr};
    std::atomic<bool> is_over_{false};

    // Of the thread.
    SavingPace pace_;
    std::uint64_t handled_then_ = 0;
    unsigned busy_looks_ = 0;   // since this save began
    unsigned quiet_looks_ = 0;  // since anything happened
};

}  // namespace aoti_dbg

// Prints messages for threads that have their own descriptors (own_descriptors.hpp) and so cannot print.
// Shows the progress of a long save on a terminal. A thread with the program's descriptors does both. If it
// cannot be created, tell() prints the messages and no progress is shown.
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
    /// Returns the current progress. The thread calls it about twice a second.
    using Ask = std::function<SaveProgress()>;

    /// Call this at most once, from a thread whose standard error is the program's. The object must never be
    /// freed, because the thread uses it until end().
    void start(Ask ask);

    /// Queues a message. You may call it from any thread.
    void say(Severity severity, std::string line);
    /// Prints queued messages on the calling thread, whose standard error must be the program's. Takes no
    /// lock without a deadline.
    void tell();

    /// Switches the line from what is done to what is left. `hint` says what the reader can do, and it must
    /// outlive this object.
    void set_ending(const char* hint) { hint_.store(hint, std::memory_order_release); }
    /// Erases the line for good and prints queued messages. Takes no lock without a deadline.
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
    std::mutex telling_;  // held while lines are printed, taken before `mutex_`
    std::mutex mutex_;
    std::condition_variable lines_there_;
    std::array<Line, 16> lines_;  // enough, because each message appears once
    std::size_t said_ = 0;
    std::size_t told_ = 0;

    Ask ask_;
    bool shows_ = false;  // standard error is a terminal
    std::atomic<const char*> hint_{nullptr};
    std::atomic<bool> is_over_{false};

    // Used only by the thread.
    SavingPace pace_;
    std::uint64_t handled_then_ = 0;
    unsigned busy_looks_ = 0;   // since this save began
    unsigned quiet_looks_ = 0;  // since the last activity
};

}  // namespace aoti_dbg

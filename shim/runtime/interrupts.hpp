// SIGINT while we make the process wait at its end: the program would have ended by then, so it is meant for
// us. One at a time, and not before the end: during its run the signal is the program's own business.
//
// The program's threads run the handler, since ours have all signals blocked. Who waits is one of the former,
// perhaps in a handler of its own that blocks SIGINT; so it is let through for that thread.
#pragma once

#include <csignal>

namespace aoti_dbg {

class Interrupts {
  public:
    /// Counts from here on, unless the program ignores the signal (nohup): then it goes on being ignored.
    Interrupts();
    /// Disposition and mask are what they were, and what was pending is.
    ~Interrupts();
    Interrupts(const Interrupts&) = delete;
    Interrupts& operator=(const Interrupts&) = delete;

    [[nodiscard]] bool are_counted() const { return are_counted_; }
    [[nodiscard]] unsigned count() const;

  private:
    bool are_counted_ = false;
    bool was_pending_ = false;
    sigset_t mask_before_{};
};

}  // namespace aoti_dbg

// Counts SIGINT while the library makes the process wait at exit. The program would have ended by then, so
// the signal is meant for us. One object at a time, and never before exit: until then the signal belongs to
// the program. Our threads block all signals, so a thread of the program runs the handler. The waiting thread
// may be in a handler that blocks SIGINT, so the object unblocks it there.
#pragma once

#include <csignal>

namespace aoti_dbg {

class Interrupts {
  public:
    /// Starts counting. If the program ignores the signal (nohup), it stays ignored.
    Interrupts();
    /// Restores the signal's disposition and mask, and raises the signal again if it was pending before.
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

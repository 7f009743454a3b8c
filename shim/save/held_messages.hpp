// Messages of threads that have their own descriptors (own_descriptors.hpp) and so cannot print. They are
// held until a thread of the program prints them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>

#include "base/message.hpp"

namespace aoti_dbg {

class HeldMessages {
  public:
    /// Any thread may call this. Messages beyond the sixteenth are dropped: each kind appears once.
    void say(Severity severity, std::string line);
    /// Prints what is held, each message once, in order. The caller's standard error must be the program's.
    /// Takes no lock without a deadline.
    void print();

  private:
    struct Line {
        Severity severity = Severity::warn;
        std::string text;
    };
    std::mutex mutex_;
    std::array<Line, 16> lines_;
    std::size_t held_ = 0;  // ever
    std::size_t printed_ = 0;
    std::atomic<bool> has_some_{false};
};

}  // namespace aoti_dbg

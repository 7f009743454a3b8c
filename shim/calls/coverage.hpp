// What was seen and what was not: "saw nothing" is not "clean". Counted a thread, added up when the process
// ends.
#pragma once

#include <atomic>
#include <cstdint>

namespace aoti_dbg {

/// A count that one thread raises and others read.
class Count {
  public:
    void raise() { value_.store(value_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
    void add(const Count& other) {
        value_.store(value_.load(std::memory_order_relaxed) + other.get(), std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_{0};
};

struct Counts {
    Count runs;
    Count calls;       // of models, and launches outside of any
    Count printed;     // with a line in the log; of measured calls MeasuredOutput knows
    Count filtered;    // not selected, by name or window
    Count children;    // made inside an op, or outside of any model: left out by the scope
    Count failed;      // came back with an error
    Count exceptions;  // left by an exception
    Count deep;        // inside more calls than are kept account of
    Count unsafe;      // stack arguments unknown and not safe to repeat: passed through unseen

    void add(const Counts& other) {
        runs.add(other.runs);
        calls.add(other.calls);
        printed.add(other.printed);
        filtered.add(other.filtered);
        children.add(other.children);
        failed.add(other.failed);
        exceptions.add(other.exceptions);
        deep.add(other.deep);
        unsafe.add(other.unsafe);
    }
};

}  // namespace aoti_dbg

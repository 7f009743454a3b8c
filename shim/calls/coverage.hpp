// Counts what the library intercepted and what it missed, because "saw nothing" is not "clean". Each thread
// counts its own calls, and the session adds the counts at exit.
#pragma once

#include <atomic>
#include <cstdint>

namespace aoti_dbg {

/// A counter that one thread increments and others read.
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
    Count skipped;     // runs among them whose calls were not inspected, because no window selects them
    Count calls;       // calls of models, and launches outside any model
    Count printed;     // calls with a line in the log; MeasuredOutput counts measured calls
    Count filtered;    // not selected, by name or window
    Count children;    // inside an op or outside any model, so excluded by the scope
    Count failed;      // returned an error
    Count exceptions;  // unwound by an exception
    Count deep;        // nested too deep to record
    Count serialized;  // launches that could not overlap the one before, because of a marker
    Count unsafe;      // unknown stack arguments that are unsafe to repeat; passed through unrecorded

    void add(const Counts& other) {
        runs.add(other.runs);
        skipped.add(other.skipped);
        calls.add(other.calls);
        printed.add(other.printed);
        filtered.add(other.filtered);
        children.add(other.children);
        failed.add(other.failed);
        exceptions.add(other.exceptions);
        deep.add(other.deep);
        serialized.add(other.serialized);
        unsafe.add(other.unsafe);
    }
};

}  // namespace aoti_dbg

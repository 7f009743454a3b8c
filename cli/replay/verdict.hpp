// What a captured launch shows when it is replayed. Each replay runs in a child process with a deadline,
// because a fault ends a process's context, and a smaller launch can wait forever.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/replay/launch_files.hpp"
#include "cli/replay/replay.hpp"

namespace aoti_dbg::cli {

enum class Symptom : std::uint8_t {
    nothing,
    different,   // from the record
    fault,       // or another error of the driver
    unwritten,   // it reads memory that nothing wrote
    unstable,    // not the same each time
    not_finite,  // it writes NaN or Inf
};

struct Verdict {
    Symptom symptom = Symptom::nothing;
    int result = 0;  // of a fault: the driver's error
    std::string
        place;  // of a fault: the line of the kernel, if it is known; else the first tensor that shows it
    std::string words;  // of a fault: the driver's

    bool operator==(const Verdict& other) const {
        return symptom == other.symptom && result == other.result && place == other.place;
    }
};

/// Returns "reads uninitialized memory, which shows in buf4".
std::string words_of(const Verdict& verdict);

class Judge {
  public:
    /// Judges launches with their own code, so the request must have none.
    explicit Judge(const ReplayRequest& request) : request_(request) {}

    /// Fails if the launch cannot be replayed. The first launch has no deadline, and later ones 10 times as
    /// long as it took.
    Result<Verdict> judge(const LaunchFile& file);
    /// True if the launch has this verdict. Compares the kernel's line only if `expected` has one. An
    /// unstable launch must differ in each of several trials, because a smaller race shows less often.
    bool has(const LaunchFile& file, const Verdict& expected);
    /// True if one of several trials shows the verdict.
    bool can_have(const LaunchFile& file, const Verdict& expected);

  private:
    bool shows(const LaunchFile& file, const Verdict& expected);
    Result<Verdict> judge_once(const LaunchFile& file, bool wants_line);

    ReplayRequest request_;
    std::chrono::seconds deadline_{0};  // 0 if there is none
};

}  // namespace aoti_dbg::cli

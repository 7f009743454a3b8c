// The calls of one process, as its flight ring has them, and which of them a report is about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serializer/flight_ring_reader.hpp"
#include "triage/judge/crash_report.hpp"

namespace aoti_dbg {

/// The ring outlives it.
class RecordedCalls {
  public:
    explicit RecordedCalls(const ring::Contents& contents);

    /// Runs and what surrounds them hold calls; they are none, nor is who waits for the device.
    static bool is_call(const ring::Record& record);

    /// Of each thread the innermost that had not come back; runs, which may wait for one of the others, last.
    [[nodiscard]] std::vector<ring::Call> in_flight(bool main_thread_only) const;

    /// The first that a fault on the device made fail; else of the last run that failed the first call that
    /// did, else that run.
    [[nodiscard]] std::optional<ring::Call> failed() const;

    /// Whether no other thread had a launch under way meanwhile.
    [[nodiscard]] bool was_alone(const ring::Call& failed) const;

    /// Of that thread; of all with 0.
    [[nodiscard]] std::optional<ring::Call> last(std::uint32_t thread = 0) const;

    /// Those that had come back when `to` began, the latest first; of its own thread, or with none of all.
    [[nodiscard]] std::vector<CrashCall> before(const std::optional<ring::Call>& to) const;

    /// Those before a launch, of whatever thread, the latest first: on its own stream, or what was handed to
    /// others.
    [[nodiscard]] std::vector<CrashCall> before_on_stream(const ring::Call& launch) const;
    [[nodiscard]] std::vector<CrashCall> before_elsewhere(const ring::Call& launch) const;

    /// The names of the model's own calls of its run up to it; empty where the ring has lost the first.
    [[nodiscard]] std::vector<std::string> names_up_to(const ring::Call& to) const;

    /// The launch of a kernel that faulted, by the driver's name of it and its number among the launches of
    /// its context, where the dump has one, on that context or at least its device; `is_certain` says whether
    /// it could have been no other.
    [[nodiscard]] std::optional<ring::Call> launch_of(const DeviceFault& fault, bool& is_certain) const;

    /// The call of that number, or, of one that waits, the call that it lies in.
    [[nodiscard]] std::optional<ring::Call> of_sequence(std::uint64_t sequence) const;

    /// The call that it was made in: an op that launches a kernel of a library's. None where that is a run.
    [[nodiscard]] std::optional<ring::Call> around(const ring::Call& call) const;

    /// Whether it may have been captured, and its kernel run when a graph was launched behind it.
    [[nodiscard]] bool may_be_replayed(const ring::Call& launch) const;

    /// Whether runs ended well after it; of its own thread alone, or of any.
    [[nodiscard]] bool any_run_after(const ring::Call& failed, bool own_thread_only) const;

    [[nodiscard]] CrashCall told(const ring::Call& call) const { return recorded_call(contents_, call); }

    /// With the op that it lies in.
    [[nodiscard]] CrashCall launch_details(const ring::Call& launch) const;

  private:
    /// Whether a launch may have been in the context, or on the device, that the fault is told of.
    [[nodiscard]] bool may_be_there(const ring::Call& launch, const DeviceFault& fault) const;
    template <typename IsRequested>
    [[nodiscard]] std::vector<CrashCall> latest(IsRequested is_requested) const;

    const ring::Contents& contents_;
    std::vector<ring::Call> all_;
};

}  // namespace aoti_dbg

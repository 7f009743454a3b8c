// The calls of one process in its flight ring, and which of them a report is about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serializer/flight_ring_reader.hpp"
#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

/// The ring must outlive it.
class RecordedCalls {
  public:
    explicit RecordedCalls(const ring::Contents& contents);

    /// True for calls proper. Runs, lifecycle records and device waits are not calls.
    static bool is_call(const ring::Record& record);

    /// Returns the innermost open call of each thread. Runs come last, because they may wait for one of the
    /// others.
    [[nodiscard]] std::vector<ring::Call> in_flight(bool main_thread_only) const;

    /// Returns the first call that returned an error which ends its context. Otherwise returns the first
    /// failed call of the last failed run, or else that run.
    [[nodiscard]] std::optional<ring::Call> failed() const;

    /// True if no other thread had a launch in progress at the time.
    [[nodiscard]] bool was_alone(const ring::Call& failed) const;

    /// Returns the last call of that thread, or of all threads for 0.
    [[nodiscard]] std::optional<ring::Call> last(std::uint32_t thread = 0) const;

    /// Returns the calls that preceded `to` on its thread and have returned, latest first. Without `to`, it
    /// returns those of all threads.
    [[nodiscard]] std::vector<CrashCall> before(const std::optional<ring::Call>& to) const;

    /// Return the calls of any thread before a launch, latest first: on its stream, or on other streams.
    [[nodiscard]] std::vector<CrashCall> before_on_stream(const ring::Call& launch) const;
    [[nodiscard]] std::vector<CrashCall> before_elsewhere(const ring::Call& launch) const;

    /// Returns the run that contains the call, as the ring names it. Empty if the ring has overwritten it.
    [[nodiscard]] std::string run_name_of(const ring::Call& call) const;

    /// Returns the names of the model's own calls of its run up to `to`. Empty if the ring has overwritten
    /// the first.
    [[nodiscard]] std::vector<std::string> names_up_to(const ring::Call& to) const;

    /// Returns the launch of a faulted kernel. It matches the driver's kernel name, the launch number if the
    /// dump has one, and the context or at least the device. `is_certain` is true if no other launch is
    /// possible.
    [[nodiscard]] std::optional<ring::Call> launch_of(const DeviceFault& fault, bool& is_certain) const;

    /// Returns the call with that number, or for a wait the call that encloses it.
    [[nodiscard]] std::optional<ring::Call> of_sequence(std::uint64_t sequence) const;

    /// Returns the call that encloses it, such as an op that launches a library's kernel. Returns nothing if
    /// that is a run.
    [[nodiscard]] std::optional<ring::Call> around(const ring::Call& call) const;

    /// True if the launch may have been captured, so that a later graph launch ran its kernel.
    [[nodiscard]] bool may_be_replayed(const ring::Call& launch) const;

    /// True if a run succeeded after it, on its own thread or on any.
    [[nodiscard]] bool any_run_after(const ring::Call& failed, bool own_thread_only) const;

    [[nodiscard]] CrashCall details(const ring::Call& call) const { return recorded_call(contents_, call); }

    /// Includes the enclosing op.
    [[nodiscard]] CrashCall launch_details(const ring::Call& launch) const;

  private:
    /// True if a launch may have been in the fault's context or on its device.
    [[nodiscard]] bool may_be_there(const ring::Call& launch, const DeviceFault& fault) const;
    template <typename IsRequested>
    [[nodiscard]] std::vector<CrashCall> latest(IsRequested is_requested) const;

    const ring::Contents& contents_;
    std::vector<ring::Call> all_;
};

}  // namespace aoti_dbg

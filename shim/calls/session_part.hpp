// The interface between the session and features. A feature that needs files, threads or a line at exit has a
// part in each session. Session owns the ring, the log and the threads, and does not know the features.
#pragma once

#include <cstdint>
#include <span>

struct CUctx_st;  // of cuda.h

namespace aoti_dbg {

class CoverageLine;
class Session;
struct NamedCount;
struct ThreadState;
namespace ring {
struct DeviceContext;
}

/// A part is never freed, because threads may use it until the process ends. The functions run in the order
/// of the list in library/features.cpp.
class SessionPart {
  public:
    SessionPart() = default;
    virtual ~SessionPart() = default;
    SessionPart(const SessionPart&) = delete;
    SessionPart& operator=(const SessionPart&) = delete;

    /// The thread of `state` has ended.
    virtual void thread_ends(const ThreadState& /*state*/) {}
    /// The ring is about to name a context whose launches are counted.
    virtual void context_appears(const ring::DeviceContext& /*context*/) {}
    /// Call these before a context, or all contexts of a device, are destroyed. They do not throw and
    /// preserve errno. The arguments are driver handles.
    virtual void context_ends(CUctx_st* /*context*/) {}
    virtual void device_ends(int /*device*/) {}
    /// The program releases the device's own context, which ends if nothing else retains it.
    virtual void device_context_may_end(int /*device*/) {}

    // The process exits, possibly in a signal handler. The functions below must not allocate or wait for a
    // lock without a deadline.

    /// Writes what remains.
    virtual void finish() {}
    /// Returns the number of calls that the part printed. A thread counts the calls that it prints itself.
    [[nodiscard]] virtual std::uint64_t printed() const { return 0; }
    virtual void append_coverage(CoverageLine& /*line*/) const {}
    /// Ends the part's files. `counts` is the coverage of the process.
    virtual void close(std::span<const NamedCount> /*counts*/) {}
    /// Runs after the closing line, and prints what the user must read last. Returns true if there was a
    /// finding or a fault.
    virtual bool conclude() { return false; }
    /// Returns true if the output folder must stay, because it has files of this part.
    [[nodiscard]] virtual bool has_files() const { return false; }
};

/// Creates the parts of all features that the options request, in the order of library/features.cpp.
void start_session_parts(Session& session);

}  // namespace aoti_dbg

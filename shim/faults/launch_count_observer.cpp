// See launch_count_observer.hpp.
#include "shim/faults/launch_count_observer.hpp"

#include "shim/runtime/launch_count.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

void count_batch(const CopyBatch& batch, const void* stream) {
    if (batch.to == nullptr || batch.from == nullptr || batch.bytes == nullptr) return;
    for (std::size_t i = 0; i < batch.count; ++i) {
        if (batch.bytes[i] != 0) count_copy(batch.to[i], batch.from[i], stream);
    }
}

}  // namespace

// Only triage counts launches (watch_for_faults()).
DriverKinds LaunchCountObserver::kinds() const {
    using enum DriverKind;
    return g_recording_memory ? kinds_of({access, work, signal, destroy_context, reset_device}) : 0;
}

void LaunchCountObserver::before(const DriverEvent& event, KeptByObserver& /*kept*/) const {
    if (event.kind == DriverKind::destroy_context) return forget_launch_counts(event.context);
    if (event.kind == DriverKind::reset_device) return forget_launch_counts_of(event.device);
    if (!g_counts_launches.load(std::memory_order_relaxed)) return;
    const auto& [read, written, is_between_peers] = event.memory;
    if (event.fill.rows != 0) count_fill(written.bytes, event.fill.rows, event.fill.pitch, event.stream);
    // The driver may use a kernel for a copy between two device addresses.
    if (read.bytes != 0 && written.bytes != 0) count_copy(written.address, read.address, event.stream);
    count_batch(event.batch, event.stream);
}

}  // namespace aoti_dbg

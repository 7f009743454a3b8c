#include "shim/faults/fault_part.hpp"

#include <unistd.h>

#include <cstdint>
#include <memory>

#include "base/message.hpp"
#include "serializer/flight_ring_format.hpp"
#include "shim/calls/coverage_line.hpp"
#include "shim/calls/session.hpp"
#include "shim/faults/dump_request.hpp"
#include "shim/faults/fatal_signals.hpp"
#include "shim/faults/fault_window.hpp"
#include "shim/faults/reporter.hpp"
#include "shim/faults/seen_devices.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/tally.hpp"

namespace aoti_dbg {

FaultPart::FaultPart(Session& session) : session_(session) {
    if (!options().triage || session.folder().empty()) return;
    // The command waits for the process and reports its exit itself.
    const bool reports = !is_tallied() && prepare_reporter({session.folder(), folder_at_load(),
                                                            session.begun_unix_ns(), session.is_start()});
    if (reports || session.ring() != nullptr) watch_fatal_signals();
}

void FaultPart::context_appears(const ring::DeviceContext& context) {
    note_device(static_cast<std::int32_t>(context.device));
}

void FaultPart::finish() {
    const std::string* const dump = dump_.load(std::memory_order_acquire);
    is_written_ = dump != nullptr && access(dump->c_str(), F_OK) == 0;
}

void FaultPart::append_coverage(CoverageLine& line) const {
    if (is_written_)
        line.file("GPU core dump", dump_.load(std::memory_order_acquire)->c_str(),
                  CoverageLine::Section::more_files);
}

bool FaultPart::conclude() {
    if (!is_written_) {
        const bool has_faulted = dump_.load(std::memory_order_acquire) != nullptr && has_fault_begun();
        // For a hang, the thread that requested the dump has printed this.
        if (has_faulted && !has_asked_for_dump())
            message(Severity::warn,
                    "a kernel faulted on the GPU, and the driver left no core dump. Set "
                    "CUDA_LAUNCH_BLOCKING=1: the launch that fails is then the culprit.");
        return has_faulted;
    }
    if (!tallied_start() && !has_reporter())
        message(Severity::warn, "%s. Run `aoti-dbg report %s` to see which.",
                has_asked_for_dump() ? "the driver recorded which kernels ran during the hang"
                                     : "a kernel faulted on the GPU",
                session_.folder().c_str());
    return true;
}

void start_fault_part(Session& session) {
    session.add(std::make_unique<FaultPart>(session));
}

}  // namespace aoti_dbg

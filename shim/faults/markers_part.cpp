#include "shim/faults/markers_part.hpp"

#include <cstdlib>
#include <memory>
#include <new>

#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {

CompletionMarkers* MarkersPart::create() const {
    const DumpOfFault dump = dump_of_fault();
    if (!wants_markers(options(), dump, std::getenv("CUDA_LAUNCH_BLOCKING"))) return nullptr;
    return new (std::nothrow) CompletionMarkers(ring_, dump);
}

void MarkersPart::thread_ends(const ThreadState& state) {
    CompletionMarkers* const markers = present();
    if (markers != nullptr && state.ring) markers->thread_ends(state.ring.header()->tid);
}

void MarkersPart::finish() {
    if (CompletionMarkers* const markers = present(); markers != nullptr) markers->look();
}

CompletionMarkers* markers_of(const Session& session) {
    MarkersPart* const part = session.part<MarkersPart>();
    return part == nullptr ? nullptr : part->markers();
}

CompletionMarkers* present_markers(const Session& session) {
    const MarkersPart* const part = session.part<MarkersPart>();
    return part == nullptr ? nullptr : part->present();
}

void start_markers(Session& session) {
    if (options().may_mark() && session.ring() != nullptr)
        session.add(std::make_unique<MarkersPart>(*session.ring()));
}

}  // namespace aoti_dbg

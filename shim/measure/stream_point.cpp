#include "shim/measure/stream_point.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "shim/measure/pending.hpp"
#include "shim/measure/torch_allocations.hpp"

namespace aoti_dbg {
namespace {

static_assert(kMostPrintedValues <= kMostValues, "what is printed of a tensor is brought to the host");

MemoryPart memory_of(const SeenTensor& seen) {
    return {seen.address, seen.facts->covered_bytes};
}

}  // namespace

bool StreamPoint::measure(const SeenTensor& seen, Requested requested, std::uint32_t call,
                          Measurement& measured) {
    for (const Pending& other : pending_) {
        if (!other.is(seen, requested)) continue;
        measured = other.measurement;
        measured.call = call;
        return true;
    }
    const SeenFacts& facts = *seen.facts;
    const std::uint32_t blocks = blocks_for(facts.measured_dtype, facts.count, requested, gpu_.limits());
    const std::optional<std::uint64_t> ticket =
        gpu_.take_lines(facts.result_shape(requested, blocks).lines());
    if (!ticket) return false;
    const auto add = [&] {
        return add_job(waiting_, facts.job(requested), requested, seen.address, blocks,
                       gpu_.lines_address(*ticket));
    };
    if (!add()) {
        send();
        add();
    }
    if (pending_.empty()) g_pending_points.fetch_add(1, std::memory_order_relaxed);
    if (pending_.size() == sent_) waiting_.sequence = next_launch_sequence();
    measured.ticket = *ticket;
    measured.blocks = blocks;
    measured.sequence = waiting_.sequence;
    measured.call = call;
    measured.kept = kNotKept;
    Pending& pending = pending_.emplace_back();
    pending.address = seen.address;
    pending.covered_bytes = facts.covered_bytes;
    pending.likeness = facts.likeness_for(requested);
    pending.requested = requested;
    pending.measurement = measured;
    return true;
}

bool StreamPoint::find_named(const PlannedArgument& argument, Requested requested, std::uint32_t run,
                             SeenTensor& seen, Measurement& found) const {
    const bool is_named = argument.name_number != kNone && !argument.makes_anew && argument.is_whole();
    return is_named && run == known_run_ &&
           known_like(argument).find_named(argument, requested, gpu_.valid_since(), seen, found);
}

void StreamPoint::remember(const PlannedArgument& argument, const SeenTensor& seen, Requested requested,
                           std::uint32_t run, const Measurement& measurement) {
    if (run != known_run_) {
        forget_measured();
        known_run_ = run;
    }
    if (!are_allocations_watched() && (argument.name_number == kNone || argument.makes_anew)) return;
    known_like(argument).add(argument, seen, requested, measurement);
}

void StreamPoint::note_written(const SeenTensor& seen) {
    // The extent of a tensor with unknown facts is unknown, so the write may overlap any other.
    if (!seen.facts->is_measurable()) return forget_measured();
    forget_measured_in(memory_of(seen));
}

void StreamPoint::forget_measured_in(const MemoryPart& memory) {
    known_.forget_in(memory);
    known_constants_.forget_in(memory);
}

bool StreamPoint::measures(const SeenTensor& seen) const {
    return !seen.facts->is_measurable() || measures(memory_of(seen));
}

bool StreamPoint::measures(const MemoryPart& memory) const {
    return std::any_of(pending_.begin(), pending_.end(),
                       [&](const Pending& measured) { return measured.extent().overlaps(memory); });
}

void StreamPoint::forget_measured() {
    known_.forget_all();
    known_constants_.forget_all();
    pass();
}

void StreamPoint::forget_launched() {
    const bool has_waiting = pending_.size() != sent_;
    if (!has_waiting) return forget_measured();
    known_.forget_all_but(waiting_.sequence);
    known_constants_.forget_all_but(waiting_.sequence);
    pass();
}

void StreamPoint::pass() {
    if (pending_.empty()) return;
    pending_.drop_front(std::exchange(sent_, 0));
    if (pending_.empty()) g_pending_points.fetch_sub(1, std::memory_order_relaxed);
}

void StreamPoint::launch() {
    send();
    pass();
}

void StreamPoint::send() {
    if (pending_.size() == sent_) return;
    // In another thread, the same handle means that thread's own stream.
    if (!is_known_here(key_)) return;
    const CUresult result = gpu_.launch(key_.handle, waiting_.blocks, &waiting_);
    if (result != CUDA_SUCCESS) {
        gpu_.note_failure(result);
        // The writer must not wait for results that never arrive.
        for (std::size_t i = sent_; i < pending_.size(); ++i) {
            const Measurement& refused = pending_[i].measurement;
            write_refusal(gpu_.lines(refused.ticket), refused.sequence);
        }
    }
    sent_ = pending_.size();
    waiting_.jobs = waiting_.dims = waiting_.blocks = 0;
}

}  // namespace aoti_dbg

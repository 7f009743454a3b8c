#include "shim/measure/stream_point.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "shim/measure/pending.hpp"
#include "shim/measure/torch_allocations.hpp"

namespace aoti_dbg {
namespace {

static_assert(kMostPrintedValues <= kMostValues, "what is printed of a tensor is brought to the host");

// This is more than the names in use at one time in any run. A tensor that does not fit is measured each
// time.
constexpr std::size_t kMostKnown = 1024;

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
    const std::uint32_t name = argument.name_number;
    if (run != known_run_ || name == kNone || argument.makes_anew || !argument.is_whole()) return false;
    for (std::size_t i = newest_named_[place_of_name(name)]; i != kNoKnown; i = known_[i].older_named) {
        const Known& known = known_[i];
        if (known.name != name || known.facts == nullptr || known.requested != requested) continue;
        if (!gpu_.is_young(known.measurement.ticket)) continue;
        seen = {known.address, known.facts};
        found = known.measurement;
        return true;
    }
    return false;
}

void StreamPoint::remember(const PlannedArgument& argument, const SeenTensor& seen, Requested requested,
                           std::uint32_t run, const Measurement& measurement) {
    if (run != known_run_) {
        forget_measured();
        known_run_ = run;
    }
    if (known_.size() >= kMostKnown) return;
    if (known_.capacity() == 0) {
        // Both at once, so that they stay of the same length if memory runs out.
        known_extents_.reserve(kMostKnown);
        known_.reserve(kMostKnown);
    }
    if (!are_allocations_watched() && (argument.name_number == kNone || argument.makes_anew)) return;
    const SeenFacts& facts = *seen.facts;
    known_extents_.push_back({seen.address, seen.address + facts.covered_bytes});
    Known& known = known_.emplace_back();
    known.address = seen.address;
    known.likeness = facts.likeness_for(requested);
    known.requested = requested;
    known.measurement = measurement;
    known.name = argument.name_number;
    known.facts = argument.is_whole() ? &facts : nullptr;
    link_known(known_.size() - 1);
}

void StreamPoint::link_known(std::size_t i) {
    const auto number = static_cast<std::uint16_t>(i);
    Known& known = known_[i];
    known.older = std::exchange(newest_known_[place_of(known.address)], number);
    known.older_named = std::exchange(newest_named_[place_of_name(known.name)], number);
}

void StreamPoint::unlink_known(std::size_t i) {
    const Known& known = known_[i];
    std::uint16_t* link = &newest_known_[place_of(known.address)];
    while (*link != i)
        link = &known_[*link].older;
    *link = known.older;
    link = &newest_named_[place_of_name(known.name)];
    while (*link != i)
        link = &known_[*link].older_named;
    *link = known.older_named;
}

void StreamPoint::note_written(const SeenTensor& seen) {
    // The extent of a tensor with unknown facts is unknown, so the write may overlap any other.
    if (!seen.facts->is_measurable()) return forget_measured();
    forget_measured_in(memory_of(seen));
}

void StreamPoint::forget_measured_in(const MemoryPart& memory) {
    for (std::size_t i = known_extents_.size(); i-- > 0;)
        if (known_extents_[i].overlaps(memory)) forget_known(i);
}

void StreamPoint::forget_known(std::size_t i) {
    const std::size_t last = known_.size() - 1;
    unlink_known(i);
    if (i != last) {
        unlink_known(last);
        known_[i] = known_[last];
        known_extents_[i] = known_extents_[last];
        link_known(i);
    }
    known_.pop_back();
    known_extents_.pop_back();
}

bool StreamPoint::measures(const SeenTensor& seen) const {
    return !seen.facts->is_measurable() || measures(memory_of(seen));
}

bool StreamPoint::measures(const MemoryPart& memory) const {
    return std::any_of(pending_.begin(), pending_.end(),
                       [&](const Pending& measured) { return measured.extent().overlaps(memory); });
}

void StreamPoint::forget_measured() {
    if (!known_.empty()) {
        newest_known_.fill(kNoKnown);
        newest_named_.fill(kNoKnown);
    }
    known_.clear();
    known_extents_.clear();
    pass();
}

void StreamPoint::forget_launched() {
    const bool has_waiting = pending_.size() != sent_;
    for (std::size_t i = known_.size(); i-- > 0;)
        if (!has_waiting || known_[i].measurement.sequence != waiting_.sequence) forget_known(i);
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

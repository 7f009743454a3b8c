#include "shim/measure/stream_point.hpp"

#include <atomic>

#include "shim/measure/pending.hpp"

namespace aoti_dbg {
namespace {

static_assert(kMostPrintedValues <= kMostValues, "what is printed of a tensor is brought to the host");

// This is more than the names in use at one time in any run. A tensor that does not fit is measured each
// time.
constexpr std::size_t kMostKnown = 1024;

}  // namespace

bool StreamPoint::Measured::is(const SeenTensor& seen, Requested what) const {
    return address == seen.address && facts == seen.facts->number && requested == what;
}

bool StreamPoint::Measured::overlaps(const SeenTensor& seen) const {
    return address < seen.address + seen.facts->covered_bytes && seen.address < address + covered_bytes;
}

std::optional<Measurement> StreamPoint::measure(const SeenTensor& seen, Requested requested,
                                                std::uint32_t call) {
    for (const Measured& other : pending_) {
        if (!other.is(seen, requested)) continue;
        Measurement same = other.measurement;
        same.call = call;
        return same;
    }
    const SeenFacts& facts = *seen.facts;
    const std::uint32_t blocks = blocks_for(facts.measured_dtype, facts.count, requested, gpu_.limits());
    const std::optional<std::uint64_t> ticket =
        gpu_.take_lines(facts.result_shape(requested, blocks).lines());
    if (!ticket) return std::nullopt;
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
    const Measurement measurement{*ticket, blocks, waiting_.sequence, call};
    pending_.push_back({seen.address, facts.covered_bytes, facts.number, requested, measurement});
    return measurement;
}

std::optional<Measurement> StreamPoint::find(const PlannedArgument& argument, const SeenTensor& seen,
                                             Requested requested, std::uint32_t run) const {
    if (run != known_run_ || argument.name_number == kNone || argument.makes_anew) return std::nullopt;
    for (std::size_t i = 0; i < known_names_.size(); ++i) {
        if (known_names_[i] != argument.name_number || !known_[i].is(seen, requested)) continue;
        if (gpu_.is_young(known_[i].measurement.ticket)) return known_[i].measurement;
    }
    return std::nullopt;
}

void StreamPoint::remember(const PlannedArgument& argument, const SeenTensor& seen, Requested requested,
                           std::uint32_t run, const Measurement& measurement) {
    if (run != known_run_) {
        forget_measured();
        known_run_ = run;
    }
    if (argument.name_number == kNone || argument.makes_anew || known_.size() >= kMostKnown) return;
    known_names_.push_back(argument.name_number);
    known_.push_back({seen.address, seen.facts->covered_bytes, seen.facts->number, requested, measurement});
}

void StreamPoint::note_written(const SeenTensor& seen) {
    // The extent of a tensor with unknown facts is unknown, so the write may overlap any other.
    if (!seen.facts->is_measurable()) return forget_measured();
    for (std::size_t i = known_.size(); i-- > 0;) {
        if (!known_[i].overlaps(seen)) continue;
        known_[i] = known_.back();
        known_.pop_back();
        known_names_[i] = known_names_.back();
        known_names_.pop_back();
    }
}

void StreamPoint::forget_measured() {
    known_.clear();
    known_names_.clear();
    forget_sent();
}

void StreamPoint::forget_sent() {
    if (pending_.empty()) return;
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(sent_));
    sent_ = 0;
    if (pending_.empty()) g_pending_points.fetch_sub(1, std::memory_order_relaxed);
}

void StreamPoint::launch() {
    send();
    forget_sent();
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

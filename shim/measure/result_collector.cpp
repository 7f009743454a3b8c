#include "shim/measure/result_collector.hpp"

#include <algorithm>

namespace aoti_dbg {
namespace {

// A tensor that is reported again mostly comes from the last few calls.
constexpr std::size_t kRemembered = 256;

// A few runs. More would not stay in the cache until they are written.
constexpr std::size_t kMostResults = 2048;

}  // namespace

void assign(TensorStatistics& to, const TensorStatistics& from) {
    if (is_complex(to.dtype) || is_complex(from.dtype)) {
        to = from;
        return;
    }
    to.dtype = from.dtype;
    to.requested = from.requested;
    to.count = from.count;
    to.real = from.real;
    to.hash = from.hash;
}

bool ResultCollector::begin(const EventQueue::Taken& taken) {
    const std::size_t count = taken.arguments.size();
    const std::uint64_t released = released_.load(std::memory_order_acquire);
    if (count > ring_.size()) {
        if (released != next_) return false;
        ring_.resize(std::max(count, kMostResults));
    }
    if (next_ + count - released > ring_.size()) return false;
    first_ = next_;
    next_ += count;
    for (std::size_t i = 0; i < count; ++i)
        mine(i).state = Gathered::not_yet;
    return true;
}

bool ResultCollector::collect(const EventQueue::Taken& taken) {
    if (taken.call->gpu == nullptr) return true;
    for (std::size_t i = 0; i < taken.arguments.size(); ++i) {
        const SeenArgument& seen = taken.arguments[i];
        Result& result = mine(i);
        if (seen.on_host != nullptr || result.state != Gathered::not_yet) continue;
        if (seen.measured != Measured::now && seen.measured != Measured::earlier) continue;
        collect_one(*taken.call->gpu, seen, result);
        if (result.state == Gathered::not_yet) return false;
    }
    return true;
}

void ResultCollector::end(const EventQueue::Taken& taken) {
    for (std::size_t i = 0; i < taken.arguments.size(); ++i) {
        const SeenArgument& seen = taken.arguments[i];
        if (seen.on_host == nullptr && mine(i).state == Gathered::not_yet) give_up_constant(seen);
    }
}

void ResultCollector::give_up_constant(const SeenArgument& seen) {
    if (seen.measured == Measured::now && seen.measurement.kept != kNotKept)
        constants_.fill(seen.measurement.kept, nullptr);
}

void ResultCollector::collect_one(Gpu& gpu, const SeenArgument& seen, Result& to) {
    const std::uint32_t kept = seen.measurement.kept;
    if (kept != kNotKept && seen.measured == Measured::earlier) {
        to.statistics = finish(constants_.at(kept).partial, seen.tensor->view(seen.address), seen.requested);
        to.state = Gathered::whole;
        to.values.clear();
        return;
    }
    const TensorPartial* const partial = collect_lines(gpu, seen, to);
    if (kept != kNotKept && to.state != Gathered::not_yet) constants_.fill(kept, partial);
}

const TensorPartial* ResultCollector::collect_lines(Gpu& gpu, const SeenArgument& seen, Result& to) {
    const Measurement& measurement = seen.measurement;
    const ResultShape shape = seen.tensor->result_shape(seen.requested, measurement.blocks);
    const ResultLine* lines = gpu.lines(measurement.ticket);
    if (remembered_.empty()) remembered_.resize(kRemembered);
    Remembered& remembered = remembered_[measurement.ticket % kRemembered];
    const bool is_known = remembered.gpu == &gpu && remembered.ticket == measurement.ticket &&
                          remembered.sequence == measurement.sequence;
    if (!is_known) {
        remembered.gpu = nullptr;
        to.state = gather(lines, shape, measurement.sequence, remembered.partial);
        if (to.state != Gathered::whole) return nullptr;
        remembered.gpu = &gpu;
        remembered.ticket = measurement.ticket;
        remembered.sequence = measurement.sequence;
        remembered.facts = 0;
    }
    to.values.resize(shape.bytes_of_values);
    to.state = Gathered::not_yet;
    if (!gather_values(lines, shape, measurement.sequence, to.values)) return nullptr;
    if (remembered.facts != seen.tensor->number || remembered.requested != seen.requested) {
        remembered.facts = seen.tensor->number;
        remembered.requested = seen.requested;
        remembered.statistics = finish(remembered.partial, seen.tensor->view(seen.address), seen.requested);
    }
    assign(to.statistics, remembered.statistics);
    to.state = Gathered::whole;
    return &remembered.partial;
}

}  // namespace aoti_dbg

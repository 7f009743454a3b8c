#include "shim/measure/measured_side.hpp"

#include <utility>

#include "shim/measure/host_measuring.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

Requested requested_in(StatsDetail detail) {
    switch (detail) {
        case StatsDetail::printed:
            return Requested::printed;
        case StatsDetail::hashes:
            return Requested::printed | Requested::hash;
        case StatsDetail::indices:
            return Requested::printed | Requested::indices;
        case StatsDetail::full:
            return Requested::printed | Requested::indices | Requested::hash;
    }
    return Requested::printed;
}

}  // namespace

MeasuredSide::MeasuredSide(SideState& state, Measurer& measurer, const ShimApi& api, const OpenCall& call,
                           const TensorRequest& requested)
    : state_(state),
      measurer_(measurer),
      api_(api),
      call_(call),
      tensors_(requested),
      requested_(requested.printed ? requested_in(options().stats) : Requested::findings),
      reuse_(options().reuse) {
    state_.arguments.clear();
}

bool MeasuredSide::at(StreamPoint& point, bool ask_anew) {
    point_ = &point;
    lock_ = std::unique_lock(point.mutex());
    if (ask_anew) state_.is_capturing = point.is_capturing();
    if (!state_.is_capturing) return true;
    say_that_it_captures();
    return false;
}

void MeasuredSide::add_scalar(const CallArgument& argument) {
    SeenArgument& seen = state_.arguments.list.emplace_back();
    seen.facts = argument.facts;
    seen.scalar = static_cast<std::uint32_t>(state_.arguments.scalars.size());
    state_.arguments.scalars.push_back(argument.value);
}

SeenArgument MeasuredSide::argument_of(const PlannedArgument& facts, const SeenTensor& tensor) const {
    SeenArgument seen;
    seen.facts = &facts;
    seen.tensor = tensor.facts;
    seen.address = tensor.address;
    seen.requested = requested_;
    return seen;
}

void MeasuredSide::add_earlier(const PlannedArgument& facts, const SeenTensor& tensor,
                               const Measurement& measurement) {
    SeenArgument& seen = state_.arguments.list.emplace_back(argument_of(facts, tensor));
    seen.measurement = measurement;
    seen.measured = Measured::earlier;
}

void MeasuredSide::add_tensor(const PlannedArgument& facts, const SeenTensor& tensor) {
    SeenArgument& seen = state_.arguments.list.emplace_back(argument_of(facts, tensor));
    seen.measurement.call = call_.number;
    if (!tensor.facts->is_measurable()) return;
    if (tensor.facts->count != 0 && tensor.address == 0) {
        seen.why_not = WhyNot::no_memory;
    } else if (tensor.facts->place == Place::cpu || tensor.facts->count == 0) {
        seen.on_host = state_.arguments.on_host.emplace_back(measure_on_host(tensor, requested_, api_)).get();
        seen.measured = Measured::now;
    } else {
        measure_there(facts, tensor, seen);
    }
}

void MeasuredSide::note_written(const SeenTensor& tensor) {
    if (point_ != nullptr && tensor.facts->place != Place::cpu) point_->note_written(tensor);
}

void MeasuredSide::note_unknown_write() {
    if (point_ != nullptr) point_->forget_measured();
}

void MeasuredSide::add_if_known(const PlannedArgument& facts, const SeenTensor& tensor) {
    if (point_ == nullptr || !reuse_) return;
    if (const auto earlier = point_->find(facts, tensor, requested_, call_.run))
        add_earlier(facts, tensor, *earlier);
}

bool MeasuredSide::add_if_named(const PlannedArgument& facts) {
    if (point_ == nullptr || !reuse_) return false;
    SeenTensor tensor;
    const auto earlier = point_->find_named(facts, requested_, call_.run, tensor);
    if (earlier) add_earlier(facts, tensor, *earlier);
    return earlier.has_value();
}

bool MeasuredSide::add_if_kept(const PlannedArgument& facts, const ConstantsOwner& owner) {
    if (point_ == nullptr || !reuse_) return false;
    const std::uint32_t number = measurer_.constants().find(facts, owner);
    if (number == kNotKept) return false;
    const KeptConstants::Kept& kept = measurer_.constants().at(number);
    Measurement measurement;
    measurement.call = kept.call;
    measurement.kept = number;
    add_earlier(facts, {kept.address, &kept.facts}, measurement);
    return true;
}

void MeasuredSide::keep_constant(const PlannedArgument& facts, const SeenTensor& tensor,
                                 const ConstantsOwner& owner) {
    SeenArgument& seen = state_.arguments.list.back();
    if (seen.measured != Measured::now || seen.on_host != nullptr || !reuse_) return;
    seen.measurement.kept = measurer_.constants().expect(facts, tensor, owner, call_.number);
}

void MeasuredSide::leave(Next next) {
    if (point_ != nullptr) {
        if (next == Next::any_work || options().sync)
            point_->launch();
        else if (next == Next::passing)
            point_->pass();
    }
    if (lock_.owns_lock()) lock_.unlock();
}

void MeasuredSide::pass_on(SeenCall& seen, const MeasuredCall& call) {
    seen.call = call;
    seen.printed = tensors_.printed;
    seen.check = tensors_.check;
    measurer_.report(seen, state_.arguments, point_);
    if (options().sync) measurer_.wait_until_written();
}

void MeasuredSide::report(const MeasuredCall& call, Next next) {
    leave(next);
    SeenCall seen;
    pass_on(seen, call);
}

void MeasuredSide::keep(Next next) {
    leave(next);
    // An exception unwound the call of the earlier side, or that call ran others.
    for (const SeenArgument& lost : state_.before.list)
        measurer_.give_up_constant(lost);
    std::swap(state_.before, state_.arguments);
    state_.before_of = call_.mark;
}

void MeasuredSide::report_both(const MeasuredCall& call) {
    leave(Next::same_point);
    SeenCall seen;
    seen.has_both_sides = true;
    SeenArguments& before = state_.before;
    seen.before = static_cast<std::uint32_t>(before.list.size());
    before.list.insert(before.list.end(), state_.arguments.list.begin(), state_.arguments.list.end());
    std::swap(before.list, state_.arguments.list);
    for (std::unique_ptr<MeasuredOnHost>& measured : before.on_host)
        state_.arguments.on_host.push_back(std::move(measured));
    before.clear();
    state_.before_of = 0;
    pass_on(seen, call);
}

void MeasuredSide::measure_there(const PlannedArgument& facts, const SeenTensor& tensor, SeenArgument& seen) {
    if (point_ == nullptr) {
        seen.why_not = WhyNot::no_context;
        return;
    }
    if (tensor.facts->device_index >= 0 && tensor.facts->device_index != point_->gpu().device()) {
        seen.why_not = WhyNot::other_device;
        return;
    }
    if (reuse_) {
        if (const auto earlier = point_->find(facts, tensor, requested_, call_.run)) {
            seen.measurement = *earlier;
            seen.measured = Measured::earlier;
            return;
        }
    }
    const std::optional<Measurement> now = measure_or_wait(tensor);
    if (!now) {
        seen.why_not = WhyNot::no_room;
        return;
    }
    seen.measurement = *now;
    seen.measured = Measured::now;
    if (reuse_) point_->remember(facts, tensor, requested_, call_.run, *now);
}

/// Returns nothing if no room for the result appears within the deadline.
std::optional<Measurement> MeasuredSide::measure_or_wait(const SeenTensor& tensor) {
    std::uint32_t tries = 0;
    for (;;) {
        if (const auto now = point_->measure(tensor, requested_, call_.number)) return now;
        lock_.unlock();
        const bool goes_on = measurer_.wait_for_room(point_, tries);
        lock_.lock();
        if (!goes_on) return std::nullopt;
    }
}

}  // namespace aoti_dbg

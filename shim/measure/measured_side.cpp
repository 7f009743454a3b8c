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

void MeasuredSide::add_earlier(const PlannedArgument& facts, const SeenTensor& tensor,
                               const Measurement& measurement) {
    SeenArgument& seen = add(facts, tensor);
    seen.measurement = measurement;
    seen.measured = Measured::earlier;
}

/// Measures a tensor that is not known.
void MeasuredSide::measure(const PlannedArgument& facts, const SeenTensor& tensor, SeenArgument& seen) {
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
    Measurement earlier;
    if (point_->find(facts, tensor, requested_, call_.run, earlier)) add_earlier(facts, tensor, earlier);
}

bool MeasuredSide::add_if_named(const PlannedArgument& facts) {
    if (point_ == nullptr || !reuse_) return false;
    SeenTensor tensor;
    Measurement earlier;
    if (!point_->find_named(facts, requested_, call_.run, tensor, earlier)) return false;
    add_earlier(facts, tensor, earlier);
    return true;
}

bool MeasuredSide::add_if_kept(const PlannedArgument& facts, const ConstantsOwner& owner) {
    if (point_ == nullptr || !reuse_) return false;
    const KeptConstants::Found* const found = measurer_.constants().find(facts, owner, state_.constants);
    if (found == nullptr) return false;
    Measurement measurement;
    measurement.call = found->kept->call;
    measurement.kept = found->number;
    add_earlier(facts, {found->kept->address, &found->kept->facts}, measurement);
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

void MeasuredSide::pass_on() {
    state_.call.printed = tensors_.printed;
    state_.call.check = tensors_.check;
    measurer_.report(state_.call, state_.arguments, point_);
    if (options().sync) measurer_.wait_until_written();
}

void MeasuredSide::report(Next next) {
    leave(next);
    pass_on();
}

void MeasuredSide::keep(Next next) {
    leave(next);
    // An exception unwound the call of the earlier side, or that call ran others.
    for (const SeenArgument& lost : state_.unreported.list)
        measurer_.give_up_constant(lost);
    std::swap(state_.unreported, state_.arguments);
    state_.unreported_of = call_.mark;
}

void MeasuredSide::report_both() {
    leave(Next::same_point);
    SeenArguments& before = state_.unreported;
    state_.call.has_both_sides = true;
    state_.call.before = static_cast<std::uint32_t>(before.list.size());
    before.list.append(state_.arguments.list);
    before.list.swap(state_.arguments.list);
    for (std::unique_ptr<MeasuredOnHost>& measured : before.on_host)
        state_.arguments.on_host.push_back(std::move(measured));
    before.clear();
    state_.unreported_of = 0;
    pass_on();
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
    if (!point_->measure(tensor, requested_, call_.number, seen.measurement) &&
        !wait_and_measure(tensor, seen.measurement)) {
        seen.why_not = WhyNot::no_room;
        return;
    }
    seen.measured = Measured::now;
    if (reuse_) point_->remember(facts, tensor, requested_, call_.run, seen.measurement);
}

/// Returns false if no room for the result appears within the deadline.
bool MeasuredSide::wait_and_measure(const SeenTensor& tensor, Measurement& measured) {
    std::uint32_t tries = 0;
    for (;;) {
        lock_.unlock();
        const bool goes_on = measurer_.wait_for_room(point_, tries);
        lock_.lock();
        if (!goes_on) return false;
        if (point_->measure(tensor, requested_, call_.number, measured)) return true;
    }
}

}  // namespace aoti_dbg

#include "shim/measure/event_queue.hpp"

#include <bit>
#include <utility>

namespace aoti_dbg {

const char* text_of(WhyNot why) {
    switch (why) {
        case WhyNot::facts:
            return "";
        case WhyNot::no_memory:
            return "its data pointer is null";
        case WhyNot::no_context:
            return "no CUDA context is current";
        case WhyNot::other_device:
            return "it is on a different device than the call's stream";
        case WhyNot::no_room:
            return "results arrived faster than they could be written";
    }
    return "";
}

void SeenArguments::add_scalar(const ArgumentFacts& facts, const ScalarValue& value) {
    SeenArgument& seen = list.emplace_back();
    seen.facts = &facts;
    if (const auto* const integer = std::get_if<std::int64_t>(&value)) {
        seen.scalar = ScalarKind::integer;
        seen.number = static_cast<std::uint64_t>(*integer);
    } else if (const auto* const natural = std::get_if<std::uint64_t>(&value)) {
        seen.scalar = ScalarKind::natural;
        seen.number = *natural;
    } else if (const auto* const real = std::get_if<double>(&value)) {
        seen.scalar = ScalarKind::real;
        seen.number = std::bit_cast<std::uint64_t>(*real);
    } else {
        seen.text = static_cast<std::uint32_t>(texts.size());
        texts.push_back(std::get<ShortText>(value));
    }
}

ShortText text_of(const SeenArgument& scalar, std::span<const ShortText> texts) {
    switch (scalar.scalar) {
        case ScalarKind::integer:
            return text_of(static_cast<std::int64_t>(scalar.number));
        case ScalarKind::natural:
            return text_of(scalar.number);
        case ScalarKind::real:
            return text_of(std::bit_cast<double>(scalar.number));
        case ScalarKind::text:
            break;
    }
    return texts[scalar.text];
}

bool EventQueue::put(const SeenCall& call, SeenArguments& arguments) {
    const std::lock_guard lock(mutex_);
    SeenArguments& all = coming_.arguments;
    if (coming_.calls.capacity() == 0) {
        coming_.calls.reserve(kMostCalls);
        all.list.reserve(kMostArguments);
        all.texts.reserve(kMostArguments);
    }
    const bool fits =
        coming_.calls.size() < kMostCalls && all.list.size() + arguments.list.size() <= kMostArguments;
    if (!fits) return false;
    // The only step that may allocate, and throw, is first: then no argument of the queue refers to a lost
    // result.
    for (std::unique_ptr<MeasuredOnHost>& measured : arguments.on_host)
        all.on_host.push_back(std::move(measured));
    coming_.calls.push_back(call);
    SeenCall& last = coming_.calls.back();
    last.arguments = static_cast<std::uint32_t>(arguments.list.size());
    last.texts = static_cast<std::uint32_t>(arguments.texts.size());
    all.list.append(arguments.list);
    all.texts.append(arguments.texts);
    puts_.store(puts_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    arguments.clear();
    return true;
}

EventQueue::Taken EventQueue::peek() const {
    if (next_call_ == going_.calls.size()) return {};
    const SeenCall& call = going_.calls[next_call_];
    return {&call,
            {going_.arguments.list.data() + next_argument_, call.arguments},
            {going_.arguments.texts.data() + next_text_, call.texts}};
}

EventQueue::Taken EventQueue::take() {
    if (next_call_ == going_.calls.size()) {
        going_.calls.clear();
        going_.arguments.clear();
        next_call_ = next_argument_ = next_text_ = 0;
        const std::lock_guard lock(mutex_);
        std::swap(coming_, going_);
    }
    const Taken taken = peek();
    if (taken.call == nullptr) return taken;
    ++next_call_;
    next_argument_ += taken.arguments.size();
    next_text_ += taken.texts.size();
    return taken;
}

}  // namespace aoti_dbg

#include "shim/tensors/arguments.hpp"

#include <cstring>
#include <string_view>

namespace aoti_dbg {
namespace {

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

ScalarValue scalar_of(FrameReader& frame, std::string_view type) {
    if (contains(type, "double")) return frame.real();
    if (contains(type, "float")) return static_cast<double>(frame.single());
    const std::uint64_t value = frame.integer();
    if (contains(type, "bool")) return std::int64_t{(value & 1U) != 0 ? 1 : 0};
    if (contains(type, "int32") || type == "int" || type == "const int")
        return std::int64_t{static_cast<std::int32_t>(value)};
    return static_cast<std::int64_t>(value);
}

}  // namespace

bool is_symbol(std::string_view text) {
    const char first = text.empty() ? '0' : text.front();
    return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_';
}

CallArgument CallArgument::of_scalar(const PlannedArgument& facts, const ScalarValue& value) {
    CallArgument argument;
    argument.set_scalar(facts, value);
    return argument;
}

CallArgument CallArgument::of_pointer(const PlannedArgument& facts, std::uint64_t address) {
    CallArgument argument;
    argument.set_pointer(facts, address);
    return argument;
}

void kernel_arguments(const StubFrame& frame, const SitePlan* plan, unsigned integers,
                      PlainList<CallArgument>& found) {
    FrameReader reader(frame);
    if (plan == nullptr) {
        for (unsigned i = 0; i < integers; ++i)
            found.push_back(CallArgument::of_pointer(unknown_argument(i), reader.integer()));
        return;
    }
    for (const auto& elements : plan->by_position) {
        if (elements.empty()) break;
        const PlannedArgument& planned = *elements.front();
        const Argument& written = *planned.written;
        const bool is_tensor = written.kind == ArgumentKind::tensor;
        // The types decide which registers the following arguments use.
        if (written.type.empty() && !is_tensor) break;
        if (is_tensor || contains(written.type, "*")) {
            found.push_back(CallArgument::of_pointer(planned, reader.integer()));
            continue;
        }
        const ScalarValue value = scalar_of(reader, written.type);
        if (is_symbol(written.text)) found.push_back(CallArgument::of_scalar(planned, value));
    }
}

void unplanned_arguments(void* const* parameters, std::span<const std::uint32_t> sizes,
                         PlainList<CallArgument>& found) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] == 8) {
            std::uint64_t address = 0;
            memcpy(&address, parameters[i], sizeof address);
            found.push_back(CallArgument::of_pointer(unknown_argument(i), address));
        } else if (sizes[i] == 4) {
            std::int32_t number = 0;
            memcpy(&number, parameters[i], sizeof number);
            found.push_back(CallArgument::of_scalar(unknown_argument(i), std::int64_t{number}));
        }
    }
}

void passed_arguments(std::span<const PassedValue> values, const SitePlan& plan,
                      PlainList<CallArgument>& found) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        const PassedValue& value = values[i];
        const PlannedArgument* const planned = plan.at(i);
        if (planned == nullptr || value.kind == PassedValue::Kind::other) continue;
        if (value.kind == PassedValue::Kind::tensor) {
            CallArgument argument;
            argument.facts = planned;
            argument.handle = value.tensor;
            argument.may_write = !planned->only_reads();
            argument.only_after = planned->role == Role::makes;
            found.push_back(argument);
        } else {
            const bool is_integer = value.kind == PassedValue::Kind::integer;
            found.push_back(CallArgument::of_scalar(
                *planned, is_integer ? ScalarValue(std::int64_t{value.integer}) : ScalarValue(value.real)));
        }
    }
}

}  // namespace aoti_dbg

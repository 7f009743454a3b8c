#include "shim/tensors/arguments.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace aoti_dbg {
namespace {

bool is_symbol(std::string_view text) {
    const char first = text.empty() ? '0' : text.front();
    return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_';
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

ShortText scalar_text(FrameReader& frame, std::string_view type) {
    if (contains(type, "double")) return ShortText::real(frame.real());
    if (contains(type, "float")) return ShortText::real(static_cast<double>(frame.single()));
    const std::uint64_t value = frame.integer();
    if (contains(type, "bool")) return ShortText::integer((value & 1U) != 0 ? 1 : 0);
    if (contains(type, "int32") || type == "int" || type == "const int")
        return ShortText::integer(static_cast<std::int32_t>(value));
    return ShortText::integer(static_cast<std::int64_t>(value));
}

template <typename Type>
Type parameter(const void* place) {
    Type value;
    memcpy(&value, place, sizeof value);
    return value;
}

/// Formats a launch parameter by its type in the Triton signature. Returns false for an unknown type.
bool launched_scalar(const void* place, std::string_view type, ShortText& text) {
    if (type == "i64")
        text = ShortText::integer(parameter<std::int64_t>(place));
    else if (type == "u64")
        text = ShortText::unsigned_integer(parameter<std::uint64_t>(place));
    else if (type == "i32")
        text = ShortText::integer(parameter<std::int32_t>(place));
    else if (type == "u32")
        text = ShortText::integer(parameter<std::uint32_t>(place));
    else if (type == "i16")
        text = ShortText::integer(parameter<std::int16_t>(place));
    else if (type == "i8")
        text = ShortText::integer(parameter<std::int8_t>(place));
    else if (type == "i1")
        text = ShortText::integer(parameter<std::uint8_t>(place) & 1);
    else if (type == "fp32" || type == "f32")
        text = ShortText::real(static_cast<double>(parameter<float>(place)));
    else if (type == "fp64" || type == "f64")
        text = ShortText::real(parameter<double>(place));
    else
        return false;
    return true;
}

/// Formats a literal from the source, such as "8192L" or "0.5", without its C++ suffix.
ShortText literal_text(std::string_view text) {
    while (!text.empty() && (text.back() == 'L' || text.back() == 'U'))
        text.remove_suffix(1);
    return ShortText(text);
}

/// Appends the arguments in source order with all numbers, as PyTorch prints them.
void site_arguments(void* const* parameters, const SitePlan& plan, std::span<const std::uint32_t> launched,
                    std::vector<CallArgument>& found) {
    for (std::size_t position = 0; position < plan.by_position.size(); ++position) {
        const PlannedArgument* planned = plan.at(position);
        if (planned == nullptr) continue;
        const auto place = std::find(launched.begin(), launched.end(), position);
        const void* parameter_at = place == launched.end()
                                       ? nullptr
                                       : parameters[static_cast<std::size_t>(place - launched.begin())];
        const Argument& written = *planned->written;
        ShortText text;
        if (!written.tensors.empty()) {
            if (parameter_at != nullptr)
                found.push_back(CallArgument::of_pointer(*planned, parameter<std::uint64_t>(parameter_at)));
        } else if (written.kind != ArgumentKind::scalar) {
            continue;
        } else if (parameter_at != nullptr && launched_scalar(parameter_at, written.type, text)) {
            found.push_back(CallArgument::of_scalar(*planned, text));
        } else if (!is_symbol(written.text)) {
            found.push_back(CallArgument::of_scalar(*planned, literal_text(written.text)));
        }
    }
}

}  // namespace

CallArgument CallArgument::of_scalar(const PlannedArgument& facts, const ShortText& text) {
    CallArgument argument;
    argument.kind = Kind::scalar;
    argument.facts = &facts;
    argument.text = text;
    return argument;
}

CallArgument CallArgument::of_pointer(const PlannedArgument& facts, std::uint64_t address) {
    CallArgument argument;
    argument.kind = Kind::pointer;
    argument.facts = &facts;
    argument.may_write = !facts.only_reads();
    argument.address = address;
    return argument;
}

void kernel_arguments(const StubFrame& frame, const SitePlan* plan, unsigned integers,
                      std::vector<CallArgument>& found) {
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
        const ShortText text = scalar_text(reader, written.type);
        if (is_symbol(written.text)) found.push_back(CallArgument::of_scalar(planned, text));
    }
}

void launch_arguments(void* const* parameters, const SitePlan* plan, std::span<const std::uint32_t> launched,
                      std::span<const std::uint32_t> sizes, std::vector<CallArgument>& found) {
    if (plan != nullptr && !launched.empty()) return site_arguments(parameters, *plan, launched, found);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] == 8) {
            found.push_back(
                CallArgument::of_pointer(unknown_argument(i), parameter<std::uint64_t>(parameters[i])));
        } else if (sizes[i] == 4) {
            found.push_back(CallArgument::of_scalar(
                unknown_argument(i), ShortText::integer(parameter<std::int32_t>(parameters[i]))));
        }
    }
}

void passed_arguments(std::span<const PassedValue> values, const SitePlan& plan,
                      std::vector<CallArgument>& found) {
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
            found.push_back(CallArgument::of_scalar(*planned, value.kind == PassedValue::Kind::integer
                                                                  ? ShortText::integer(value.integer)
                                                                  : ShortText::real(value.real)));
        }
    }
}

}  // namespace aoti_dbg

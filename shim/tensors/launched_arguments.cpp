#include "shim/tensors/launched_arguments.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "shim/tensors/arguments.hpp"

namespace aoti_dbg {
namespace {

using Reading = LaunchedArgument::Reading;

template <typename Type>
Type parameter(const void* place) {
    Type value;
    memcpy(&value, place, sizeof value);
    return value;
}

std::optional<Reading> reading_of(std::string_view type) {
    constexpr std::array<std::pair<std::string_view, Reading>, 11> kReadings = {{
        {"i64", Reading::i64},
        {"u64", Reading::u64},
        {"i32", Reading::i32},
        {"u32", Reading::u32},
        {"i16", Reading::i16},
        {"i8", Reading::i8},
        {"i1", Reading::i1},
        {"fp32", Reading::f32},
        {"f32", Reading::f32},
        {"fp64", Reading::f64},
        {"f64", Reading::f64},
    }};
    for (const auto& [name, reading] : kReadings)
        if (name == type) return reading;
    return std::nullopt;
}

void read_scalar(const void* place, Reading reading, ScalarValue& value) {
    switch (reading) {
        case Reading::u64:
            value = parameter<std::uint64_t>(place);
            return;
        case Reading::i32:
            value = std::int64_t{parameter<std::int32_t>(place)};
            return;
        case Reading::u32:
            value = std::int64_t{parameter<std::uint32_t>(place)};
            return;
        case Reading::i16:
            value = std::int64_t{parameter<std::int16_t>(place)};
            return;
        case Reading::i8:
            value = std::int64_t{parameter<std::int8_t>(place)};
            return;
        case Reading::i1:
            value = std::int64_t{parameter<std::uint8_t>(place) & 1};
            return;
        case Reading::f32:
            value = static_cast<double>(parameter<float>(place));
            return;
        case Reading::f64:
            value = parameter<double>(place);
            return;
        case Reading::i64:
        case Reading::pointer:
        case Reading::literal:
            break;
    }
    value = parameter<std::int64_t>(place);
}

/// Returns a literal from the source, such as "8192L" or "0.5", without its C++ suffix.
ShortText literal_text(std::string_view text) {
    while (!text.empty() && (text.back() == 'L' || text.back() == 'U'))
        text.remove_suffix(1);
    return ShortText(text);
}

}  // namespace

std::vector<LaunchedArgument> plan_launch(const std::vector<std::vector<const PlannedArgument*>>& by_position,
                                          std::span<const std::uint32_t> launched) {
    std::vector<LaunchedArgument> plan;
    for (std::size_t position = 0; position < by_position.size(); ++position) {
        if (by_position[position].empty()) continue;
        LaunchedArgument argument;
        argument.facts = by_position[position].front();
        const Argument& written = *argument.facts->written;
        const auto place = std::ranges::find(launched, position);
        const bool is_passed = place != launched.end();
        if (is_passed) argument.parameter = static_cast<std::uint32_t>(place - launched.begin());
        const std::optional<Reading> reading = is_passed ? reading_of(written.type) : std::nullopt;
        if (!written.tensors.empty()) {
            if (!is_passed) continue;
            argument.reading = Reading::pointer;
        } else if (written.kind != ArgumentKind::scalar) {
            continue;
        } else if (reading) {
            argument.reading = *reading;
        } else if (!is_symbol(written.text)) {
            argument.literal = literal_text(written.text);
        } else {
            continue;
        }
        plan.push_back(argument);
    }
    return plan;
}

void launch_arguments(void* const* parameters, std::span<const LaunchedArgument> planned,
                      PlainList<CallArgument>& found) {
    for (const LaunchedArgument& argument : planned) {
        // In place, because every launch comes here.
        CallArgument& passed = found.emplace_back();
        const void* const place = parameters[argument.parameter];
        if (argument.reading == Reading::pointer) {
            passed.set_pointer(*argument.facts, parameter<std::uint64_t>(place));
            continue;
        }
        passed.kind = CallArgument::Kind::scalar;
        passed.facts = argument.facts;
        if (argument.reading == Reading::literal)
            passed.value = argument.literal;
        else
            read_scalar(place, argument.reading, passed.value);
    }
}

}  // namespace aoti_dbg

#include "cli/trace/trace_names.hpp"

#include "serializer/crash_call.hpp"

namespace aoti_dbg::cli {

std::uint64_t trace_id(std::uint64_t process, std::uint64_t kind, std::uint64_t number) {
    const auto mixed = [](std::uint64_t value) {
        value *= 0x9E3779B97F4A7C15U;
        value ^= value >> 32U;
        return value * 0x9E3779B97F4A7C15U;
    };
    const std::uint64_t id = mixed(number + mixed(process << 8U | kind));
    return id == 0 ? 1 : id;  // 0 is the root track
}

std::string_view category_of(ring::CallKind kind) {
    return kind == ring::CallKind::unknown ? "call" : word_of(kind);
}

}  // namespace aoti_dbg::cli

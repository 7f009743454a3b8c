#include "cli/trace/trace_names.hpp"

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
    switch (kind) {
        case ring::CallKind::triton:
            return "triton";
        case ring::CallKind::extern_op:
            return "op";
        case ring::CallKind::proxy_op:
            return "proxy_op";
        case ring::CallKind::dispatcher:
            return "dispatcher_op";
        case ring::CallKind::cpp_kernel:
            return "cpp_kernel";
        case ring::CallKind::launch:
            return "launch";
        case ring::CallKind::graph:
            return "graph";
        case ring::CallKind::run:
            return "run";
        case ring::CallKind::lifecycle:
            return "lifecycle";
        case ring::CallKind::wait:
            return "wait";
        case ring::CallKind::unknown:
            break;
    }
    return "call";
}

}  // namespace aoti_dbg::cli

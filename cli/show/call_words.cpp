#include "cli/show/call_words.hpp"

namespace aoti_dbg::cli {

const char* word_for(ring::CallKind kind) {
    switch (kind) {
        case ring::CallKind::unknown:
            break;
        case ring::CallKind::triton:
            return "triton";
        case ring::CallKind::extern_op:
            return "extern";
        case ring::CallKind::proxy_op:
            return "proxy";
        case ring::CallKind::dispatcher:
            return "dispatcher";
        case ring::CallKind::cpp_kernel:
            return "cpp";
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
    }
    return "?";
}

std::string state_of(const ring::Record& record) {
    if (is_open(record)) return "<-- did not end";
    if ((record.flags & ring::kUnwoundByException) != 0) return "unwound by an exception";
    return record.result == 0 ? "ok" : "error " + std::to_string(record.result);
}

std::string unless(std::uint32_t number, std::uint32_t none) {
    return number == none ? "-" : std::to_string(number);
}

}  // namespace aoti_dbg::cli

#include "serializer/crash_call.hpp"

#include <cstddef>
#include <iterator>

#include "base/clean_text.hpp"
#include "base/words.hpp"

namespace aoti_dbg {
namespace {

// Indexed by the number of the kind.
constexpr std::string_view kKinds[] = {"unknown", "triton", "op",  "proxy_op",  "dispatcher_op", "cpp_kernel",
                                       "launch",  "graph",  "run", "lifecycle", "wait"};

}  // namespace

CrashCall recorded_call(const ring::Contents& contents, const ring::Call& call) {
    const ring::Record& record = *call.record;
    CrashCall to;
    to.name = contents.name(record.name);
    to.kind = record.kind;
    to.sequence = record.seq;
    to.run = record.run;
    to.call = record.call;
    if (record.model != ring::kNoModel) to.model = record.model;
    to.thread = call.thread->tid;
    to.stream = record.stream;
    to.context = record.context;
    const ring::DeviceContext* const context = contents.context_of(record);
    if (context != nullptr && contents.has_several_devices()) to.device = device_name(context->device);
    to.result = record.result;
    to.unwound_by_exception = (record.flags & ring::kUnwoundByException) != 0;
    return to;
}

std::string_view word_of(ring::CallKind kind) {
    const auto number = static_cast<std::size_t>(kind);
    return kKinds[number < std::size(kKinds) ? number : 0];
}

ring::CallKind kind_of(std::string_view word) {
    for (std::size_t i = 0; i < std::size(kKinds); ++i)
        if (kKinds[i] == word) return static_cast<ring::CallKind>(i);
    return ring::CallKind::unknown;
}

std::string place_text(const CrashCall& call) {
    std::string place;
    if (call.run != ring::kNoRun) place = "run " + std::to_string(call.run);
    if (call.call != ring::kNoCall)
        place += (place.empty() ? "call " : ", call ") + std::to_string(call.call);
    if (place.empty()) return {};
    return (call.is_likely ? " (likely " : " (") + place + ")";
}

std::string line_text(std::uint32_t line, std::string_view source) {
    const std::string number = std::to_string(line);
    return source.empty() ? "line " + number + " of the wrapper source" : clean_text(source) + ":" + number;
}

std::string call_text(const CrashCall& call) {
    if (call.kind == ring::CallKind::run && call.run != ring::kNoRun) {
        const std::string model = call.model == ~0U ? "" : " of model " + std::to_string(call.model);
        return (call.is_likely ? "likely run " : "run ") + std::to_string(call.run) + model;
    }
    return clean_text(call.name) + place_text(call);
}

void set_around(const CrashCall& around, CrashCall& launch) {
    if (is_name_of(around.name, launch.name)) {
        launch.name = around.name;
        launch.run = around.run;
        launch.call = around.call;
    } else {
        launch.inside = call_text(around);
    }
}

std::string failure_text(const CrashCall& call) {
    return call.unwound_by_exception ? "an exception unwound " + call_text(call)
                                     : call_text(call) + " failed";
}

bool is_name_of(std::string_view launch, std::string_view kernel) {
    if (launch == kernel) return !kernel.empty();
    if (kernel.empty() || launch.size() <= kernel.size() + 1 || launch.substr(0, kernel.size()) != kernel)
        return false;
    launch.remove_prefix(kernel.size());
    return launch.front() == '_' && launch.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

}  // namespace aoti_dbg

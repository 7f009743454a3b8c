// hang.json, version 1: one line. A stream is a hexadecimal string, as in all events. Unknown members are
// omitted.
#include <utility>

#include "serializer/event_fields.hpp"
#include "serializer/hang.hpp"
#include "serializer/jsonl_members.hpp"

namespace aoti_dbg {
namespace {

/// Our files never have more.
constexpr std::size_t kMostCalls = 4096;
constexpr std::size_t kMostCallers = 64;

void append_unless_empty(std::string_view name, std::string_view text, std::string& out) {
    if (!text.empty()) append_member(name, text, out);
}

void append_unless(std::string_view name, std::uint64_t number, std::uint64_t unknown, std::string& out) {
    if (number != unknown) append_member(name, number, out);
}

/// Appends everything but the closing brace.
void append_call(const CrashCall& call, std::string& out) {
    append_member(R"({"kernel":)", call.name, out);
    append_member(R"(,"kind":)", word_of(call.kind), out);
    append_member(R"(,"seq":)", call.sequence, out);
    append_unless(R"(,"run":)", call.run, ring::kNoRun, out);
    append_unless(R"(,"call":)", call.call, ring::kNoCall, out);
    append_unless(R"(,"model":)", call.model, ~0U, out);
    append_member(R"(,"thread":)", call.thread, out);
    out += R"(,"stream":"0x)";
    append_short_hex(call.stream, out);
    out += '"';
    append_unless_empty(R"(,"device":)", call.device, out);
    append_unless_empty(R"(,"inside":)", call.inside, out);
    if (call.is_likely) out += R"(,"likely":true)";
}

void append_stuck(const StuckCall& stuck, std::string& out) {
    append_call(stuck.call, out);
    if (stuck.asks) out += R"(,"asks":true)";
    if (stuck.is_without_wait) out += R"(,"nobody_waits":true)";
    append_member(R"(,"nanoseconds":)", stuck.nanoseconds, out);
    append_unless_empty(R"(,"thread_name":)", stuck.place.name, out);
    append_unless_empty(R"(,"state":)", stuck.place.state, out);
    append_unless_empty(R"(,"wait_channel":)", stuck.place.wait_channel, out);
    append_unless_empty(R"(,"system_call":)", stuck.place.system_call, out);
    append_unless_empty(R"(,"code":)", stuck.place.code, out);
    if (stuck.place.callers.empty()) return;
    out += R"(,"callers":[)";
    for (const std::string& caller : stuck.place.callers)
        append_member(&caller == &stuck.place.callers.front() ? "" : ",", caller, out);
    out += ']';
}

template <typename List, typename Append>
void append_all(std::string_view name, const List& list, Append append, std::string& out) {
    out.append(name).append("[");
    bool is_first = true;
    for (const auto& one : list) {
        if (!std::exchange(is_first, false)) out += ',';
        append(one, out);
        out += '}';
    }
    out += ']';
}

bool is_true(JsonLine::Value value) {
    return value.is(JsonLine::Kind::boolean) && value.text() == "true";
}

CrashCall read_call(JsonLine::Value from) {
    CrashCall call;
    call.name = string_of(from.member("kernel"));
    call.kind = kind_of(from.member("kind").text());
    read_integer(from.member("seq"), call.sequence);
    read_integer(from.member("run"), call.run);
    read_integer(from.member("call"), call.call);
    read_integer(from.member("model"), call.model);
    read_integer(from.member("thread"), call.thread);
    read_address(from.member("stream"), call.stream);
    call.device = string_of(from.member("device"));
    call.inside = string_of(from.member("inside"));
    call.is_likely = is_true(from.member("likely"));
    return call;
}

StuckCall read_stuck(JsonLine::Value from) {
    StuckCall stuck;
    stuck.call = read_call(from);
    stuck.asks = is_true(from.member("asks"));
    stuck.is_without_wait = is_true(from.member("nobody_waits"));
    read_integer(from.member("nanoseconds"), stuck.nanoseconds);
    stuck.place.name = string_of(from.member("thread_name"));
    stuck.place.state = string_of(from.member("state"));
    stuck.place.wait_channel = string_of(from.member("wait_channel"));
    stuck.place.system_call = string_of(from.member("system_call"));
    stuck.place.code = string_of(from.member("code"));
    for (JsonLine::Value one = from.member("callers").first(); one; one = one.next())
        if (stuck.place.callers.size() < kMostCallers) stuck.place.callers.push_back(string_of(one));
    return stuck;
}

}  // namespace

void append_hang_json(const Hang& hang, std::string& out) {
    append_member(R"({"format":)", kHangFormatName, out);
    append_member(R"(,"version":)", kHangFormatVersion, out);
    append_member(R"(,"pid":)", hang.pid, out);
    append_member(R"(,"time_ns":)", hang.time_ns, out);
    append_all(R"(,"calls":)", hang.calls, append_stuck, out);
    append_member(R"(,"unended_count":)", hang.unended_count, out);
    if (hang.by_markers) out += R"(,"by_markers":true)";
    if (hang.is_recorded) out += R"(,"recorded":true)";
    append_all(R"(,"unended":)", hang.unended, append_call, out);
    out += "}\n";
}

Result<Hang> read_hang(std::string_view text) {
    JsonLine json;
    text = text.substr(0, text.find('\n'));
    if (!json.parse(text) || string_of(json.root().member("format")) != kHangFormatName)
        return Status::error("not a hang report");
    std::uint32_t version = 0;
    read_integer(json.root().member("version"), version);
    if (version != kHangFormatVersion)
        return Status::error("a hang report of another version. Use the aoti-dbg that came with the library");
    Hang hang;
    read_integer(json.root().member("pid"), hang.pid);
    read_integer(json.root().member("time_ns"), hang.time_ns);
    for (JsonLine::Value one = json.root().member("calls").first(); one; one = one.next())
        if (hang.calls.size() < kMostCalls) hang.calls.push_back(read_stuck(one));
    read_integer(json.root().member("unended_count"), hang.unended_count);
    hang.by_markers = is_true(json.root().member("by_markers"));
    hang.is_recorded = is_true(json.root().member("recorded"));
    for (JsonLine::Value one = json.root().member("unended").first(); one; one = one.next())
        if (hang.unended.size() < kMostUnended) hang.unended.push_back(read_call(one));
    if (hang.calls.empty()) return Status::error("a hang report without a call");
    return hang;
}

}  // namespace aoti_dbg

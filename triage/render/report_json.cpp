// See report_json.hpp. Unknown or empty members are omitted. A stream is a hexadecimal string, as in all
// events.
#include "triage/render/report_json.hpp"

#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/clean_text.hpp"
#include "base/words.hpp"
#include "serializer/codes.hpp"
#include "serializer/number_text.hpp"
#include "triage/judge/memory_words.hpp"

namespace aoti_dbg {
namespace {

using Json = nlohmann::ordered_json;

/// The result is UTF-8, whatever bytes names contain.
std::string dumped(const Json& json, int indent) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void add_text(Json& to, const char* name, const std::string& text) {
    if (!text.empty()) to[name] = text;
}

void add_list(Json& to, const char* name, const std::vector<std::string>& list) {
    if (!list.empty()) to[name] = list;
}

void add_unless(Json& to, const char* name, std::uint64_t number, std::uint64_t unknown) {
    if (number != unknown) to[name] = number;
}

Json json_of(const CrashCall& call) {
    Json to;
    to["kernel"] = call.name;
    to["kind"] = word_of(call.kind);
    add_unless(to, "run", call.run, ring::kNoRun);
    add_unless(to, "call", call.call, ring::kNoCall);
    add_unless(to, "model", call.model, ~0U);
    add_text(to, "model_name", call.model_name);
    add_text(to, "package", call.package);
    add_text(to, "path", call.path);
    to["seq"] = call.sequence;
    to["thread"] = call.thread;
    std::string stream = "0x";
    append_short_hex(call.stream, stream);
    to["stream"] = stream;
    add_text(to, "device", call.device);
    if (call.result != 0) to["result"] = call.result;
    if (call.unwound_by_exception) to["left_by_exception"] = true;
    if (call.is_likely) to["likely"] = true;
    add_unless(to, "line", call.line, 0);
    add_text(to, "source", call.source);
    add_text(to, "inside", call.inside);
    add_list(to, "source_nodes", call.source_nodes);
    add_list(to, "original_aten", call.original_aten);
    add_list(to, "python_stack", call.python_stack);
    add_list(to, "python_lines", call.python_lines);
    add_list(to, "pre_grad_nodes", call.pre_grad_nodes);
    add_list(to, "post_grad_nodes", call.post_grad_nodes);
    add_text(to, "origin", call.origin);
    return to;
}

void add_calls(Json& to, const char* name, const std::vector<CrashCall>& calls) {
    for (const CrashCall& call : calls)
        to[name].push_back(json_of(call));
}

Json json_of(const CrashEnd& end) {
    Json to;
    to["pid"] = end.pid;
    add_text(to, "program", end.program);
    add_text(to, "folder", end.folder);
    add_text(to, "rank", end.rank);
    if (end.is_descendant) to["is_descendant"] = true;
    if (end.signal != 0) {
        to["signal"] = signal_name(end.signal);
        to["signal_number"] = end.signal;
    }
    add_unless(to, "thread", end.thread, 0);
    if (end.address) {
        std::string address = "0x";
        append_short_hex(*end.address, address);
        to["address"] = address;
    }
    if (end.signal_is_guessed) to["signal_is_guessed"] = true;
    if (end.exit_status) to["exit_status"] = *end.exit_status;
    return to;
}

Json json_of(const DeviceFault& fault, const PlacedAccess& placed) {
    Json to;
    to["kernel"] = fault.kernel;
    if (fault.error != 0) to["error"] = fault.error;
    add_text(to, "device", fault.device);
    add_text(to, "grid", fault.grid);
    add_text(to, "block_size", fault.block_size);
    add_text(to, "block", fault.block);
    add_text(to, "thread", placed.thread);
    add_text(to, "address", placed.address);
    add_text(to, "file", fault.file);
    add_unless(to, "line", fault.line, 0);
    add_text(to, "source", fault.source);
    add_unless(to, "launch", fault.launch, 0);
    add_unless(to, "later_launch", fault.later_launch, 0);
    add_text(to, "parameter", fault.parameter);
    if (!fault.parameter.empty()) to["access"] = fault.is_write ? "write" : "read";
    if (fault.is_running) {
        to["running"] = true;
        to["warps"] = fault.warps;
        to["blocks"] = fault.blocks;
        to["warps_there"] = fault.warps_there;
    }
    if (!fault.accessed) return to;
    const FaultedAccess& access = *fault.accessed;
    to["access"] = access.what;
    add_unless(to, "bytes", access.bytes, 0);
    add_text(to, "memory", access.memory);
    if (placed.is_of_thread && placed.is_likely) to["address_is_likely"] = true;
    if (placed.label.empty()) return to;
    constexpr const char* kPlaces[] = {"unknown", "inside", "past", "before", "behind_begin"};
    to["argument"] = placed.label;
    to["place"] = kPlaces[static_cast<std::size_t>(placed.place)];
    to["distance"] = placed.distance;
    return to;
}

void add_device_name(Json& to, std::int32_t device) {
    if (device != allocations::kNoDevice) to["device"] = device_name(device);
}

Json json_of(const NearTensor& near) {
    constexpr const char* kOrigins[] = {"unknown", "input", "made", "returned"};
    constexpr const char* kEnds[] = {"", "let_go", "outlived"};
    Json to;
    to["place"] = word_of(near.place);
    to["text"] = near_text(near);
    add_text(to, "name", near.name);
    to["address"] = hex_text(near.address);
    to["bytes"] = near.bytes;
    to["distance"] = near.distance;
    to["run"] = near.run;
    to["model"] = near.model;
    const auto origin = static_cast<std::size_t>(near.origin);
    to["origin"] = kOrigins[origin < std::size(kOrigins) ? origin : 0];
    to["made_after_seq"] = near.created_sequence;
    const auto end = static_cast<std::size_t>(near.end);
    if (end == 0 || end >= std::size(kEnds)) return to;
    to["end"] = kEnds[end];
    to["end_after_seq"] = near.end_sequence;
    return to;
}

Json json_of(const NearMemory& near) {
    Json to;
    to["place"] = word_of(near.place);
    to["text"] = near_text(near);
    if (near.place == NearMemory::Place::nowhere) return to;
    to["address"] = hex_text(near.address);
    to["bytes"] = near.bytes;
    to["distance"] = near.distance;
    if (near.pieces > 1) to["pieces"] = near.pieces;
    add_device_name(to, near.device);
    to["made_by"] = word_of(near.allocated_by);
    to["made_after_seq"] = near.created_sequence;
    if (near.known_tensors != 0) to["known_tensors"] = near.known_tensors;
    for (const NearTensor& tensor : near.tensors)
        to["tensors"].push_back(json_of(tensor));
    if (near.freed_by == allocations::Way::unknown) return to;
    to["freed_by"] = word_of(near.freed_by);
    to["freed_after_seq"] = near.freed_sequence;
    if (near.freed_before_ns) to["freed_before_ns"] = *near.freed_before_ns;
    return to;
}

Json json_of(const Shortage& shortage) {
    Json to;
    to["bytes"] = shortage.bytes;
    to["by"] = word_of(shortage.way);
    to["thread"] = shortage.thread;
    add_device_name(to, shortage.device);
    if (shortage.total_bytes != 0) {
        to["free"] = shortage.free_bytes;
        to["total"] = shortage.total_bytes;
    }
    to["held"] = shortage.held_bytes;
    to["allocations"] = shortage.held;
    return to;
}

Json json_of(const DriverLine& line) {
    Json to;
    to["level"] = line.is_warning ? "warning" : "error";
    to["text"] = line.text;
    if (line.is_cut) to["truncated"] = true;
    to["thread"] = line.thread;
    to["time_ns"] = line.unix_ns;
    return to;
}

Json json_of(const StuckCall& stuck) {
    Json to = json_of(stuck.call);
    if (stuck.asks) to["asks"] = true;
    if (stuck.is_without_wait) to["nobody_waits"] = true;
    to["nanoseconds"] = stuck.nanoseconds;
    add_text(to, "thread_name", stuck.place.name);
    add_text(to, "state", stuck.place.state);
    add_text(to, "wait_channel", stuck.place.wait_channel);
    add_text(to, "system_call", stuck.place.system_call);
    add_text(to, "code", stuck.place.code);
    if (!stuck.place.callers.empty()) to["callers"] = stuck.place.callers;
    return to;
}

Json json_of(const Hang& hang) {
    Json to;
    for (const StuckCall& stuck : hang.calls)
        to["calls"].push_back(json_of(stuck));
    to["unended_count"] = hang.unended_count;
    if (hang.by_markers) to["by_markers"] = true;
    if (hang.is_recorded) to["recorded"] = true;
    add_calls(to, "unended", hang.unended);
    return to;
}

/// Returns a number if it is one. Other sizes are symbols and expressions.
Json size_json(const std::string& size) {
    std::uint64_t number = 0;
    const auto read = std::from_chars(size.data(), size.data() + size.size(), number);
    if (read.ec == std::errc() && read.ptr == size.data() + size.size()) return number;
    return size;
}

Json json_of(const CrashArgument& argument, bool is_suspect) {
    Json to;
    to["label"] = argument.label;
    add_text(to, "what", argument.what);
    add_text(to, "parameter", argument.parameter);
    add_text(to, "value", argument.value);
    add_text(to, "dtype", argument.dtype);
    if (argument.has_sizes) to["sizes"] = Json::array();
    for (const std::string& size : argument.sizes)
        to["sizes"].push_back(size_json(size));
    if (argument.is_expected) to["expected"] = true;
    add_text(to, "written_by", argument.written_by);
    if (is_suspect) to["suspect"] = true;
    if (argument.begin == 0) return to;
    to["begin"] = hex_text(argument.begin);
    add_unless(to, "bytes", argument.bytes, 0);
    return to;
}

Json json_of(const NamedTexts& pairs) {
    Json to = Json::object();
    for (const auto& [name, value] : pairs)
        to[name] = value;
    return to;
}

/// Limits each text to `most` characters, because texts have any length and the line must not.
std::string line_of(const Report& report, std::string_view path, std::size_t most) {
    const auto& [evidence, verdict] = report;
    Json to;
    const auto add = [&](const char* name, std::string_view text) {
        std::string cut;
        append_shortened(text, most, cut);
        if (!cut.empty()) to[name] = cut;
    };
    to["event"] = "verdict";
    to["version"] = kReportFormatVersion;
    to["class"] = word_of(verdict.kind);
    to["code"] = code_text(verdict.code);
    to["fingerprint"] = verdict.fingerprint;
    add("verdict", verdict.headline);
    if (const std::optional<CrashCall>& call = verdict.culprit.call) {
        add("kernel", call->name);
        add_unless(to, "run", call->run, ring::kNoRun);
        add_unless(to, "call", call->call, ring::kNoCall);
    }
    to["pid"] = evidence.end.pid;
    add("rank", evidence.end.rank);
    if (evidence.end.signal != 0) to["signal"] = signal_name(evidence.end.signal);
    if (evidence.end.exit_status) to["exit_status"] = *evidence.end.exit_status;
    if (evidence.finding_count != 0) to["findings"] = evidence.finding_count;
    add("report", path);
    return dumped(to, -1) + "\n";
}

/// Adds what is known of the calls at the end of the process and before.
void add_calls(Json& to, const Evidence& evidence) {
    if (evidence.by_markers) to["by_markers"] = true;
    if (evidence.by_assertion) to["by_assertion"] = true;
    for (const SourceText& assertion : evidence.assertions)
        to["assertions"].push_back({{"line", assertion.line}, {"source", assertion.text}});
    add_calls(to, "suspects", evidence.suspects);
    add_unless(to, "suspect_count", evidence.suspect_count, 0);
    if (evidence.by_assertion) add_unless(to, "without_source", evidence.without_source, 0);
    if (evidence.unended_count != 0) to["unended_count"] = evidence.unended_count;
    add_calls(to, "unended", evidence.unended);
    add_calls(to, "in_flight", evidence.in_flight);
    add_calls(to, "also_in_flight", evidence.also_in_flight);
    if (evidence.failed) to["failed"] = json_of(*evidence.failed);
    if (evidence.failed_survived) to["failed_survived"] = true;
    if (evidence.last) to["last"] = json_of(*evidence.last);
    add_calls(to, "before", evidence.before);
    add_calls(to, "before_elsewhere", evidence.before_elsewhere);
}

}  // namespace

std::string report_json(const Report& report) {
    const auto& [evidence, verdict] = report;
    Json to;
    to["format"] = kReportFormatName;
    to["version"] = kReportFormatVersion;
    to["class"] = word_of(verdict.kind);
    to["code"] = code_text(verdict.code);
    to["verdict"] = verdict.headline;
    to["fingerprint"] = verdict.fingerprint;
    to["coarse_fingerprint"] = verdict.coarse_fingerprint;
    to["ended"] = json_of(evidence.end);
    if (const CrashCall* const call = evidence.call()) to["call"] = json_of(*call);
    if (evidence.device) to["device"] = json_of(*evidence.device, verdict.access);
    for (const NearMemory& near : verdict.memory)
        to["allocations"].push_back(json_of(near));
    if (evidence.shortage) to["shortage"] = json_of(*evidence.shortage);
    for (const DriverLine& line : evidence.driver_lines)
        to["driver_log"].push_back(json_of(line));
    if (evidence.hang) to["hang"] = json_of(*evidence.hang);
    add_calls(to, evidence);
    for (std::size_t i = 0; i < evidence.arguments.size(); ++i)
        if (evidence.arguments[i].is_shown)
            to["arguments"].push_back(json_of(evidence.arguments[i], verdict.culprit.is_suspect(i)));
    if (evidence.finding) {
        std::string line;
        append_finding_json(*evidence.finding, line);
        to["finding"] = Json::parse(line, nullptr, false);
    }
    to["seen"] = {{"processes", evidence.processes},
                  {"runs", evidence.runs},
                  {"calls", evidence.calls},
                  {"findings", evidence.finding_count}};
    if (evidence.oom_kills) to["oom_kills"] = *evidence.oom_kills;
    to["library"] = evidence.library;
    to["environment"] = json_of(evidence.versions);
    to["variables"] = json_of(evidence.variables);
    to["command"] = evidence.command;
    add_text(to, "working_folder", evidence.working_folder);
    add_list(to, "repeat", verdict.repeat);
    add_list(to, "try", verdict.advice);
    add_list(to, "notes", evidence.notes);
    return dumped(to, 2) + "\n";
}

std::string verdict_line(const Report& report, std::string_view path) {
    // A character becomes at most four bytes, and everything else in the line takes about four hundred.
    constexpr std::size_t kSurelyFits = 128;
    std::string line = line_of(report, path, kVerdictBytes);
    for (std::size_t most = kVerdictBytes / 2; line.size() > kVerdictBytes && most >= kSurelyFits; most /= 2)
        line = line_of(report, path, most);
    return line;
}

}  // namespace aoti_dbg

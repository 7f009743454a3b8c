// A report as text: the verdict, then what happened, where, which tensor and what wrote it. How to reproduce
// it, what to try, and the details follow. Lines wrap, and nothing is cut or omitted.
#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/clean_text.hpp"
#include "base/words.hpp"
#include "serializer/codes.hpp"
#include "serializer/number_text.hpp"
#include "triage/judge/crash_report.hpp"
#include "triage/judge/reproduce_script.hpp"
#include "triage/render/report_page.hpp"

namespace aoti_dbg {
namespace {

std::string address_text(std::uint64_t address) {
    std::string text = "0x";
    append_short_hex(address, text);
    return text;
}

/// "4242, /usr/bin/python3, rank 1, ended with SIGSEGV at address 0x0; the program then exited with status 3"
std::string ending_text(const CrashEnd& end) {
    std::string text = std::to_string(end.pid);
    if (!end.program.empty()) text += ", " + end.program;
    if (!end.rank.empty()) text += ", rank " + end.rank;
    if (end.is_running) text += ", still running";
    if (end.signal != 0) text += ", ended with " + signal_name(end.signal);
    if (end.address) text += " at address " + address_text(*end.address);
    if (end.signal == 0 && end.is_descendant && !end.is_in_good_order) text += ", ended abnormally";
    if (!end.exit_status) return text;
    const std::string status = std::to_string(*end.exit_status);
    if (!end.is_descendant) return text + ", exit status " + status;
    return text + "; the program then exited with status " + status;
}

/// "stream 0x5581e0 of cuda:1"
std::string stream_text(const CrashCall& call) {
    std::string text = "the legacy stream";
    if (call.stream != 0) {
        text = "stream 0x";
        append_short_hex(call.stream, text);
    }
    return call.device.empty() ? text : text + " of " + call.device;
}

std::string whereabouts(const CrashCall& call) {
    const std::string inside = call.inside.empty() ? "" : ", inside " + call.inside;
    std::string text = call_text(call) + inside + ", launch " + std::to_string(call.sequence) + ", thread " +
                       std::to_string(call.thread);
    if (ring::is_launch(call.kind)) text += ", " + stream_text(call);
    if (call.model != ~0U) text += ", model " + std::to_string(call.model);
    if (!call.model_name.empty()) text += " (" + call.model_name + ")";
    if (call.line != 0) text += ", line " + std::to_string(call.line) + " of the wrapper source";
    return text;
}

std::string text_of(const CrashCall& call) {
    std::string text = call_text(call);
    // Outside of runs, only this number identifies the launch.
    if (call.run == ring::kNoRun && ring::is_launch(call.kind))
        text += ", launch " + std::to_string(call.sequence);
    if (call.unwound_by_exception) text += ", unwound by an exception";
    if (call.result != 0) text += ", error " + std::to_string(call.result);
    return text;
}

std::vector<std::string> texts_of(const std::vector<CrashCall>& calls) {
    std::vector<std::string> texts;
    std::transform(calls.begin(), calls.end(), std::back_inserter(texts),
                   [](const CrashCall& call) { return text_of(call); });
    return texts;
}

/// Adds the stream, for calls on several streams.
std::vector<std::string> texts_with_streams(const std::vector<CrashCall>& calls) {
    std::vector<std::string> texts;
    std::transform(calls.begin(), calls.end(), std::back_inserter(texts),
                   [](const CrashCall& call) { return text_of(call) + ", " + stream_text(call); });
    return texts;
}

/// Adds the number of omitted ones if the list is incomplete.
std::vector<std::string> with_count(std::vector<std::string> texts, std::uint64_t count) {
    if (!texts.empty() && count > texts.size())
        texts.push_back("and " + std::to_string(count - texts.size()) + " more");
    return texts;
}

/// "expected float32 [s58, 16], 512 bytes at 0x7f3a00000000". Measured arguments have the first part already.
std::string tensor_text(const CrashArgument& argument) {
    const bool is_in_what = !argument.dtype.empty() && argument.what.rfind(argument.dtype, 0) == 0;
    std::string text;
    if (!is_in_what) {
        text = argument.dtype;
        if (argument.has_sizes) text += (text.empty() ? "[" : " [") + joined(argument.sizes, ", ") + "]";
        if (!text.empty() && argument.is_expected) text.insert(0, "expected ");
    }
    if (argument.begin == 0) return text;
    std::string begin;
    append_short_hex(argument.begin, begin);
    const std::string bytes = argument.bytes == 0 ? "" : memory_text(argument.bytes) + " ";
    return text + (text.empty() ? "" : ", ") + bytes + "at 0x" + begin;
}

/// Returns what is known of an argument, without its name.
std::string argument_text(const CrashArgument& argument) {
    // "xnumel = 64*s77" has the value when "= 3072" follows it.
    const bool has_value = argument.value.empty() || argument.what == argument.value ||
                           argument.label == argument.value || argument.label == argument.value + "L";
    std::string text = argument.what;
    if (!has_value) text += (text.empty() ? "" : " = ") + argument.value;
    const std::string tensor = tensor_text(argument);
    return text + (text.empty() || tensor.empty() ? "" : ", ") + tensor;
}

std::vector<std::string> texts_of(const std::vector<CrashArgument>& arguments, bool is_known) {
    std::vector<std::string> texts;
    texts.reserve(arguments.size());
    for (const CrashArgument& argument : arguments) {
        const std::string what = argument_text(argument);
        std::string text = argument.label + (what.empty() ? "" : ": " + what);
        if (argument.is_suspect) text += is_known ? "  <- this one" : "  <- likely this one";
        // The suspect comes first, because readers look for it first.
        texts.insert(argument.is_suspect ? texts.begin() : texts.end(), std::move(text));
    }
    return texts;
}

std::vector<std::string> writers_of(const std::vector<CrashArgument>& arguments) {
    std::vector<std::string> texts;
    for (const CrashArgument& argument : arguments)
        if (!argument.written_by.empty()) texts.push_back(argument.label + ": " + argument.written_by);
    return texts;
}

std::string device_text(const DeviceFault& fault) {
    std::string text;
    const auto add = [&text](const char* before, const std::string& what) {
        if (!what.empty()) text.append(text.empty() ? "" : " ").append(before).append(what);
    };
    add("block ", fault.block + (fault.thread.empty() ? "" : ", thread " + fault.thread));
    add("of grid ", fault.grid);
    add("x ", fault.block_size);
    add("on ", fault.device);
    add("at address ", fault.address);
    if (fault.block.empty())
        text += std::string(text.empty() ? "" : ", ") + "in a block that has already ended";
    if (fault.is_running)
        text += "; " + std::to_string(fault.warps_there) + " of " + counted(fault.warps, "warp") +
                " at this line";
    return text;
}

std::vector<std::string> memory_texts(const std::vector<NearMemory>& allocations) {
    std::vector<std::string> near;
    for (const NearMemory& memory : allocations) {
        near.push_back(near_text(memory));
        for (const NearTensor& tensor : memory.tensors)
            near.push_back("in it: " + near_text(tensor));
    }
    return near;
}

std::vector<std::string> stuck_texts(const Hang& hang) {
    std::vector<std::string> texts;
    std::transform(hang.calls.begin(), hang.calls.end(), std::back_inserter(texts), stuck_text);
    return texts;
}

/// Returns the commands, or how to run the script with them. A page cannot hold control characters, so a
/// command with some is marked as inexact.
std::vector<std::string> command_lines(const CrashReport& report) {
    if (has_long_commands(report) && !report.repeat_script.empty()) return script_lines(report);
    std::vector<std::string> lines = repeat_lines(report, kValueColumns);
    if (!lines.empty()) return lines;
    for (const std::string& command : report.repeat)
        for (const std::string& line : wrapped("(exact in report.json) " + command, kValueColumns))
            lines.push_back(line);
    return lines;
}

std::string shortage_line(const Shortage& shortage) {
    std::string text = shortage_text(shortage) + " by " + std::string(word_of(shortage.way)) + " in thread " +
                       std::to_string(shortage.thread);
    if (shortage.held != 0)
        text += "; this process holds " + memory_text(shortage.held_bytes) + " in " +
                counted(shortage.held, "allocation");
    return text;
}

std::string environment_text(const CrashReport& report) {
    std::string text = "aoti-dbg " + report.library;
    for (const auto& [name, value] : report.environment)
        text.append(", ").append(name).append(" ").append(value);
    return text;
}

std::vector<std::string> texts_of(const std::vector<SourceText>& lines) {
    std::vector<std::string> texts;
    texts.reserve(lines.size());
    for (const SourceText& line : lines)
        texts.push_back("line " + std::to_string(line.line) + ": " + line.text);
    return texts;
}

std::string counts_text(const CrashReport& report) {
    return std::to_string(report.processes) + (report.processes == 1 ? " process, " : " processes, ") +
           counted(report.runs, "run") + ", " + counted(report.calls, "call") + ", " +
           counted(report.findings, "finding");
}

void add_what_happened(const CrashReport& report, ReportPage& page) {
    page.add("process", ending_text(report.end));
    if (report.device && !report.device->is_running) page.add("fault", device_text(*report.device));
    if (report.hang) page.add_list("stalled", stuck_texts(*report.hang));
    if (report.device && report.device->is_running) page.add("running", device_text(*report.device));
    if (report.shortage) page.add("memory", shortage_line(*report.shortage));
    if (report.finding && report.finding->kind == Finding::Kind::argument)
        page.add("finding", argument_title(*report.finding));
}

/// Returns the call that the report is about, or null if there are several candidates.
const CrashCall* named_call(const CrashReport& report) {
    if (const CrashCall* const call = report.call()) return call;
    return report.in_flight.empty() && report.suspects.empty() ? report.reported_failure() : nullptr;
}

void add_where(const CrashReport& report, ReportPage& page) {
    const CrashCall* const call = named_call(report);
    if (call != nullptr) page.add("call", whereabouts(*call));
    if (report.device && !report.device->source.empty())
        page.add("source", "line " + std::to_string(report.device->line) + ": " + report.device->source);
    page.add_list(report.assertions.size() == 1 ? "assertion" : "assertions", texts_of(report.assertions));
    page.add_list("candidates", with_count(texts_of(report.suspects), report.suspect_count));
    if (report.in_flight.size() > 1) page.add_list("in flight", texts_of(report.in_flight));
    if (!report.faulted)
        page.add_list("unfinished", with_count(texts_of(report.unended), report.unended_count));
    if (report.hang)
        page.add_list("unfinished", with_count(texts_of(report.hang->unended), report.hang->unended_count));
    if (report.hang && !report.hang->calls.empty())
        page.add_list("stack", report.hang->calls.front().place.callers);
    if (call == nullptr) return;
    page.add("package",
             call->package + (call->package.empty() || call->path.empty() ? "" : ", " + call->path));
    page.add("ATen", joined(call->original_aten, ", "));
    page.add("nodes", joined(call->source_nodes, ", "));
}

void add_tensors(const CrashReport& report, ReportPage& page) {
    const bool is_placed = report.device && report.device->accessed &&
                           !report.device->accessed->label.empty() && !report.device->accessed->is_likely;
    page.add_list("arguments", texts_of(report.arguments, report.found || is_placed));
    if (report.device) page.add_list("memory", memory_texts(report.allocations));
    page.add_list("written by", writers_of(report.arguments));
}

void add_what_to_do(const CrashReport& report, ReportPage& page) {
    page.add_whole("reproduce", command_lines(report));
    page.add("in directory", report.working_folder);
    page.add_list("try", report.next);
    if (report.finding) page.add("suppression", report.finding->suppression);
    page.add_list("notes", report.notes);
}

void add_details(const CrashReport& report, ReportPage& page) {
    page.add_list("before", texts_of(report.before));
    page.add_list("other streams", texts_with_streams(report.before_elsewhere));
    page.add_list("other threads", texts_of(report.also_in_flight));
    if (report.faulted)
        page.add_list("unfinished", with_count(texts_with_streams(report.unended), report.unended_count));
    page.add("recorded", counts_text(report));
    page.add("versions", environment_text(report));
    const std::string code = code_text(code_of(report));
    page.add("code", code + " (see: aoti-dbg explain " + code + ")");
    page.add("class", std::string(word_of(report.kind)) + ", fingerprint " + report.fingerprint);
}

}  // namespace

bool has_long_commands(const CrashReport& report) {
    const std::size_t lines = repeat_lines(report, kValueColumns).size();
    return !report.repeat.empty() && (lines == 0 || lines > kRepeatLines);
}

void append_report_text(const CrashReport& report, std::string& out) {
    for (const std::string& line : wrapped("aoti-dbg: " + report.verdict, kReportColumns))
        out.append(line).append("\n");
    out += '\n';
    ReportPage page(out);
    add_what_happened(report, page);
    add_where(report, page);
    add_tensors(report, page);
    page.add_gap();
    add_what_to_do(report, page);
    page.add_gap();
    add_details(report, page);
}

}  // namespace aoti_dbg

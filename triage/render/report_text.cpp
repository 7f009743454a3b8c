// See report_text.hpp.
#include "triage/render/report_text.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/clean_text.hpp"
#include "base/compiled_function.hpp"
#include "base/words.hpp"
#include "serializer/codes.hpp"
#include "serializer/number_text.hpp"
#include "triage/judge/memory_words.hpp"
#include "triage/judge/repeat_commands.hpp"
#include "triage/render/report_page.hpp"
#include "triage/render/wrapped_text.hpp"

namespace aoti_dbg {
namespace {

/// "4242, /usr/bin/python3, rank 1, ended with SIGSEGV at address 0x0; the program then exited with status 3"
std::string ending_text(const CrashEnd& end) {
    std::string text = std::to_string(end.pid);
    if (!end.program.empty()) text += ", " + end.program;
    if (!end.rank.empty()) text += ", rank " + end.rank;
    if (end.is_running) text += ", still running";
    if (end.signal != 0) text += ", ended with " + signal_name(end.signal);
    if (end.address) text += " at address " + hex_text(*end.address);
    if (end.signal == 0 && end.is_descendant && !end.is_normal_exit) text += ", ended abnormally";
    if (!end.exit_status) return text;
    const std::string status = std::to_string(*end.exit_status);
    if (!end.is_descendant) return text + ", exit status " + status;
    return text + "; the program then exited with status " + status;
}

/// "stream 0x5581e0 of cuda:1"
std::string stream_of(const CrashCall& call) {
    std::string text = stream_text(call.stream);
    return call.device.empty() ? text : text + " of " + call.device;
}

std::string whereabouts(const CrashCall& call) {
    const std::string inside = call.inside.empty() ? "" : ", inside " + call.inside;
    std::string text = call_text(call) + inside + ", launch " + std::to_string(call.sequence) + ", thread " +
                       std::to_string(call.thread);
    if (ring::is_launch(call.kind)) text += ", " + stream_of(call);
    if (call.model != ~0U) text += ", model " + std::to_string(call.model);
    if (!call.model_name.empty()) text += " (" + call.model_name + ")";
    if (call.line != 0) text += ", " + line_text(call.line, call.source);
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
                   [](const CrashCall& call) { return text_of(call) + ", " + stream_of(call); });
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

std::vector<std::string> texts_of(const std::vector<CrashArgument>& arguments, const Culprit& culprit) {
    const std::string mark = culprit.is_argument_certain ? "  <- this one" : "  <- likely this one";
    std::vector<std::string> texts;
    texts.reserve(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (!arguments[i].is_shown) continue;
        const bool is_suspect = culprit.is_suspect(i);
        const std::string what = argument_text(arguments[i]);
        std::string text = arguments[i].label + (what.empty() ? "" : ": " + what) + (is_suspect ? mark : "");
        // The suspect comes first, because readers look for it first.
        texts.insert(is_suspect ? texts.begin() : texts.end(), std::move(text));
    }
    return texts;
}

std::vector<std::string> writers_of(const std::vector<CrashArgument>& arguments) {
    std::vector<std::string> texts;
    for (const CrashArgument& argument : arguments)
        if (argument.is_shown && !argument.written_by.empty())
            texts.push_back(argument.label + ": " + argument.written_by);
    return texts;
}

std::string device_text(const DeviceFault& fault, const PlacedAccess& access) {
    std::string text;
    const auto add = [&text](const char* before, const std::string& what) {
        if (!what.empty()) text.append(text.empty() ? "" : " ").append(before).append(what);
    };
    add("block ", fault.block + (access.thread.empty() ? "" : ", thread " + access.thread));
    add("of grid ", fault.grid);
    add("x ", fault.block_size);
    add("on ", fault.device);
    add("at address ", access.address);
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

/// A page cannot hold control characters, so a command with some is marked as inexact.
std::vector<std::string> command_lines(const std::vector<std::string>& commands) {
    std::vector<std::string> lines = repeat_lines(commands, kValueColumns);
    if (!lines.empty()) return lines;
    for (const std::string& command : commands)
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

std::string versions_text(const Evidence& evidence) {
    std::string text = "aoti-dbg " + evidence.library;
    for (const auto& [name, value] : evidence.versions)
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

std::string counts_text(const Evidence& evidence) {
    return std::to_string(evidence.processes) + (evidence.processes == 1 ? " process, " : " processes, ") +
           counted(evidence.runs, "run") + ", " + counted(evidence.calls, "call") + ", " +
           counted(evidence.finding_count, "finding");
}

/// Enough for an error and those that follow from it. report.json has all of them.
constexpr std::size_t kMostDriverLines = 8;

std::vector<std::string> texts_of(const std::vector<DriverLine>& lines) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < std::min(lines.size(), kMostDriverLines); ++i)
        texts.push_back((lines[i].is_warning ? "warning: " : "") + lines[i].text +
                        (lines[i].is_cut ? " .." : ""));
    return texts;
}

void add_what_happened(const Report& report, ReportPage& page) {
    const Evidence& evidence = report.evidence;
    page.add("process", ending_text(evidence.end));
    if (evidence.device && !evidence.device->is_running)
        page.add("fault", device_text(*evidence.device, report.verdict.access));
    if (evidence.hang) page.add_list("stalled", stuck_texts(*evidence.hang));
    if (evidence.device && evidence.device->is_running)
        page.add("running", device_text(*evidence.device, report.verdict.access));
    if (evidence.shortage) page.add("memory", shortage_line(*evidence.shortage));
    page.add_list("driver says", with_count(texts_of(evidence.driver_lines), evidence.driver_lines.size()));
    if (evidence.finding && evidence.finding->kind == Finding::Kind::argument)
        page.add("finding", argument_title(*evidence.finding));
}

std::vector<std::string> clean_lines(const std::vector<std::string>& lines) {
    std::vector<std::string> clean;
    clean.reserve(lines.size());
    for (const std::string& line : lines)
        clean.push_back(clean_text(line));
    return clean;
}

void add_where(const Report& report, ReportPage& page) {
    const Evidence& evidence = report.evidence;
    // A failed call is not the only candidate if calls are in flight.
    const bool is_named = evidence.call() != nullptr || evidence.in_flight.empty();
    const std::optional<CrashCall> call = is_named ? report.verdict.culprit.call : std::nullopt;
    if (call) page.add("call", whereabouts(*call));
    if (evidence.device && !evidence.device->source.empty())
        page.add("source", "line " + std::to_string(evidence.device->line) + ": " + evidence.device->source);
    page.add_list(evidence.assertions.size() == 1 ? "assertion" : "assertions",
                  texts_of(evidence.assertions));
    page.add_list("candidates", with_count(texts_of(evidence.suspects), evidence.suspect_count));
    if (evidence.in_flight.size() > 1) page.add_list("in flight", texts_of(evidence.in_flight));
    if (!evidence.faulted)
        page.add_list("unfinished", with_count(texts_of(evidence.unended), evidence.unended_count));
    if (evidence.hang)
        page.add_list("unfinished",
                      with_count(texts_of(evidence.hang->unended), evidence.hang->unended_count));
    if (evidence.hang && !evidence.hang->calls.empty())
        page.add_list("stack", evidence.hang->calls.front().place.callers);
    if (!call) return;
    page.add("package",
             call->package + (call->package.empty() || call->path.empty() ? "" : ", " + call->path));
    page.add("ATen", joined(call->original_aten, ", "));
    page.add("nodes", joined(call->source_nodes, ", "));
    const bool has_lines = !call->python_lines.empty();
    page.add_list("python", clean_lines(call->python_lines));
    if (!has_lines) page.add_whole("python", clean_lines(call->python_stack));
    if (has_lines && is_compiled_function(call->model_name))
        page.add_whole("caller", clean_lines(call->python_stack));
}

void add_tensors(const Report& report, ReportPage& page) {
    const Evidence& evidence = report.evidence;
    page.add_list("arguments", texts_of(evidence.arguments, report.verdict.culprit));
    if (evidence.device) page.add_list("memory", memory_texts(report.verdict.memory));
    page.add_list("written by", writers_of(evidence.arguments));
}

void add_what_to_do(const Report& report, ReportPage& page) {
    page.add_whole("reproduce", command_lines(report.verdict.repeat));
    page.add("in directory", report.evidence.working_folder);
    page.add_list("try", report.verdict.advice);
    if (report.evidence.finding) page.add("suppression", report.evidence.finding->suppression);
    page.add_list("notes", report.evidence.notes);
}

void add_details(const Report& report, ReportPage& page) {
    const Evidence& evidence = report.evidence;
    page.add_list("before", texts_of(evidence.before));
    page.add_list("other streams", texts_with_streams(evidence.before_elsewhere));
    page.add_list("other threads", texts_of(evidence.also_in_flight));
    if (evidence.faulted)
        page.add_list("unfinished", with_count(texts_with_streams(evidence.unended), evidence.unended_count));
    page.add("recorded", counts_text(evidence));
    page.add("versions", versions_text(evidence));
    const std::string code = code_text(report.verdict.code);
    page.add("code", code + " (see: aoti-dbg explain " + code + ")");
    page.add("class",
             std::string(word_of(report.verdict.kind)) + ", fingerprint " + report.verdict.fingerprint);
}

}  // namespace

std::string report_text(const Report& report) {
    std::string text;
    for (const std::string& line : wrapped("aoti-dbg: " + report.verdict.headline, kReportColumns))
        text.append(line).append("\n");
    text += '\n';
    ReportPage page(text);
    add_what_happened(report, page);
    add_where(report, page);
    add_tensors(report, page);
    page.add_gap();
    add_what_to_do(report, page);
    page.add_gap();
    add_details(report, page);
    return text;
}

}  // namespace aoti_dbg

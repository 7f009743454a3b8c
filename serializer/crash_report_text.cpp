// A report as a screen: at most kReportLines lines of kReportColumns characters, whatever names there are.
// Where there is more to say a part gives way (report_page); report.json has all of it.
#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/words.hpp"
#include "serializer/clean_text.hpp"
#include "serializer/crash_repeat.hpp"
#include "serializer/crash_report.hpp"
#include "serializer/number_text.hpp"
#include "serializer/report_page.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kVerdictLines = 4;

std::string address_text(std::uint64_t address) {
    std::string text = "0x";
    append_short_hex(address, text);
    return text;
}

std::string ending_text(const CrashEnd& end) {
    std::string text = "process " + std::to_string(end.pid);
    if (!end.program.empty()) text += ", " + end.program;
    if (!end.rank.empty()) text += ", rank " + end.rank;
    const std::string status = end.exit_status ? "exit status " + std::to_string(*end.exit_status) : "";
    if (end.signal != 0) text += ", by " + signal_name(end.signal);
    if (end.address) text += " at address " + address_text(*end.address);
    if (end.signal == 0 && end.is_descendant && !end.is_in_good_order) text += ", in no good order";
    if (status.empty()) return text;
    if (!end.is_descendant) return text + ", " + status;
    return text + (*end.exit_status == 0 ? ", after which the program ended well"
                                         : ", which the program made its " + status);
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

void add_call(const CrashCall& call, ReportPage& page) {
    page.add("call", whereabouts(call), 2);
    // A compiler's names are so long that of both nothing would be whole.
    const std::string both = call.package + ", " + call.path;
    const bool is_short = !call.package.empty() && !call.path.empty() && both.size() <= kValueColumns;
    page.add("package", is_short ? both : call.package, 1);
    page.add("ATen", joined(call.original_aten, ", "), 1);
    page.add("nodes", joined(call.source_nodes, ", "), 1);
}

std::string text_of(const CrashCall& call) {
    std::string text = call_text(call);
    // Outside of any run nothing else tells it from others.
    if (call.run == ring::kNoRun && ring::is_launch(call.kind))
        text += ", launch " + std::to_string(call.sequence);
    if (call.left_by_exception) text += ", left by an exception";
    if (call.result != 0) text += ", error " + std::to_string(call.result);
    return text;
}

std::vector<std::string> texts_of(const std::vector<CrashCall>& calls) {
    std::vector<std::string> texts;
    std::transform(calls.begin(), calls.end(), std::back_inserter(texts),
                   [](const CrashCall& call) { return text_of(call); });
    return texts;
}

/// Where they are on several streams.
std::vector<std::string> texts_with_streams(const std::vector<CrashCall>& calls) {
    std::vector<std::string> texts;
    std::transform(calls.begin(), calls.end(), std::back_inserter(texts),
                   [](const CrashCall& call) { return text_of(call) + ", " + stream_text(call); });
    return texts;
}

/// Which were in flight beside the one at fault, and how many more of them there were.
std::vector<std::string> texts_beside(const CrashReport& report) {
    std::vector<std::string> texts = texts_with_streams(report.unended);
    if (!texts.empty() && report.unended_count > 1)
        texts.front() += "; one of " + std::to_string(report.unended_count);
    return texts;
}

/// "float32 [s58, 16] expected, 512 bytes at 0x7f3a00000000"; what was measured has the first part.
std::string tensor_text(const CrashArgument& argument) {
    const bool is_in_what = !argument.dtype.empty() && argument.what.rfind(argument.dtype, 0) == 0;
    std::string text;
    if (!is_in_what) {
        text = argument.dtype;
        if (argument.has_sizes) text += (text.empty() ? "[" : " [") + joined(argument.sizes, ", ") + "]";
        if (!text.empty() && argument.is_expected) text += " expected";
    }
    if (argument.begin == 0) return text;
    std::string begin;
    append_short_hex(argument.begin, begin);
    const std::string bytes = argument.bytes == 0 ? "" : memory_text(argument.bytes) + " ";
    return text + (text.empty() ? "" : ", ") + bytes + "at 0x" + begin;
}

/// What is known of it besides its name.
std::string argument_text(const CrashArgument& argument) {
    // "xnumel = 64*s77" has the value when "= 3072" stands behind it.
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
        // A list that is too long loses its end.
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

void add_device(const DeviceFault& fault, const std::vector<NearMemory>& allocations, ReportPage& page) {
    std::string text;
    const auto add = [&text](const char* before, const std::string& what) {
        if (!what.empty()) text.append(text.empty() ? "" : " ").append(before).append(what);
    };
    add("block ", fault.block + (fault.thread.empty() ? "" : ", thread " + fault.thread));
    add("of grid ", fault.grid);
    add("x ", fault.block_size);
    add("on ", fault.device);
    add("at address ", fault.address);
    if (fault.block.empty()) text += ", in a block that had ended before the driver looked";
    if (fault.is_running)
        text += "; " + std::to_string(fault.warps_there) + " of its " + counted(fault.warps, "warp") +
                " stood there";
    page.add(fault.is_running ? "runs" : "fault", text, 2);
    std::vector<std::string> near;
    for (const NearMemory& memory : allocations) {
        near.push_back(near_text(memory));
        for (const NearTensor& tensor : memory.tensors)
            near.push_back("in it: " + near_text(tensor));
    }
    page.add_list("memory", near);
    if (!fault.source.empty())
        page.add("source", "line " + std::to_string(fault.line) + ": " + fault.source, 2);
}

std::vector<std::string> first_of(const std::vector<std::string>& all, std::size_t most) {
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), most))};
}

void add_hang(const Hang& hang, ReportPage& page) {
    std::string text;
    for (const StuckCall& stuck : hang.calls)
        text += (text.empty() ? "" : "; ") + stuck_text(stuck);
    page.add("hangs", text);
    if (!hang.calls.empty()) page.add_list("callers", first_of(hang.calls.front().place.callers, 6));
    page.add_list("unended", texts_of(hang.unended));
}

/// Whole, or as a script; else shortened and said to be, since it could be taken for the command.
std::vector<std::string> command_lines(const CrashReport& report) {
    std::vector<std::string> lines = repeat_lines(report, kValueColumns);
    if (!lines.empty() || report.repeat.empty()) return lines;
    if (!report.repeat_script.empty()) return script_lines(report, kValueColumns);
    for (const std::string& command : report.repeat)
        append_shortened("(whole in report.json) " + command, kValueColumns, lines.emplace_back());
    return lines;
}

std::string shortage_lines(const Shortage& shortage) {
    std::string text = shortage_text(shortage) + " by " + std::string(word_of(shortage.way)) + " in thread " +
                       std::to_string(shortage.thread);
    if (shortage.held != 0)
        text += "; this process held " + memory_text(shortage.held_bytes) + " in " +
                counted(shortage.held, "allocation");
    return text;
}

/// Of several devices one is told whole, that of the fault if there is any: what they are takes a line each.
std::string environment_text(const CrashReport& report) {
    const auto is_device = [](const auto& one) { return one.first.starts_with("cuda:"); };
    const auto is_of_fault = [&report](const auto& one) {
        return report.device && one.first == report.device->device;
    };
    const auto& all = report.environment;
    auto whole = std::find_if(all.begin(), all.end(), is_of_fault);
    if (whole == all.end()) whole = std::find_if(all.begin(), all.end(), is_device);
    std::string text = "aoti-dbg " + report.library;
    for (auto one = all.begin(); one != all.end(); ++one) {
        text.append(", ").append(one->first);
        if (!is_device(*one) || one == whole) text.append(" ").append(one->second);
    }
    return text;
}

std::vector<std::string> texts_of(const std::vector<SourceText>& lines) {
    std::vector<std::string> texts;
    texts.reserve(lines.size());
    for (const SourceText& line : lines)
        texts.push_back("line " + std::to_string(line.line) + ": " + line.text);
    return texts;
}

/// Of what a run was given, what is wrong with it; of values, whose verdict says it all, the entry that
/// silences it.
std::string finding_text(const Finding& finding) {
    return finding.kind == Finding::Kind::argument ? argument_title(finding) : finding.suppression;
}

std::string counts_text(const CrashReport& report) {
    return std::to_string(report.processes) + (report.processes == 1 ? " process, " : " processes, ") +
           counted(report.runs, "run") + ", " + counted(report.calls, "call") + ", " +
           counted(report.findings, "finding");
}

}  // namespace

bool has_long_commands(const CrashReport& report) {
    return !report.repeat.empty() && repeat_lines(report, kValueColumns).empty();
}

void append_report_text(const CrashReport& report, std::string& out) {
    const std::vector<std::string> verdict =
        wrapped("aoti-dbg: " + report.verdict, kReportColumns, kVerdictLines);
    for (const std::string& line : verdict)
        out.append(line).append("\n");
    ReportPage page;
    page.add("class", std::string(word_of(report.kind)) + ", fingerprint " + report.fingerprint, 1);
    page.add("ended", ending_text(report.end), 2);
    if (const CrashCall* const call = report.call()) {
        add_call(*call, page);
    } else if (const CrashCall* const failed = report.told_failure();
               failed != nullptr && report.in_flight.empty() && report.suspects.empty()) {
        add_call(*failed, page);
    }
    if (report.hang) add_hang(*report.hang, page);
    if (report.device) add_device(*report.device, report.allocations, page);
    if (report.assertions.size() == 1)
        page.add("asserts", texts_of(report.assertions).front(), 2);
    else
        page.add_list("asserts", texts_of(report.assertions));
    page.add_list("one of", texts_of(report.suspects));
    const bool is_beside = report.faulted && !report.by_assertion;
    if (is_beside)
        page.add_list("unended", texts_beside(report));
    else if (!report.faulted || report.without_source != 0)
        page.add_list("unended", texts_of(report.unended));
    if (report.shortage) page.add("memory", shortage_lines(*report.shortage), 2);
    if (report.in_flight.size() > 1) page.add_list("in flight", texts_of(report.in_flight));
    page.add_list("also open", texts_of(report.also_in_flight));
    page.add_list("before", texts_of(report.before));
    page.add_list("elsewhere", texts_with_streams(report.before_elsewhere));
    const bool is_placed = report.device && report.device->accessed &&
                           !report.device->accessed->label.empty() && !report.device->accessed->is_likely;
    const bool is_known = report.found || is_placed;
    page.add_list("arguments", texts_of(report.arguments, is_known));
    page.add_list("written by", writers_of(report.arguments));
    if (report.finding) page.add("finding", finding_text(*report.finding), 2);
    page.add("seen", counts_text(report), 1);
    page.add("with", environment_text(report), 2);
    page.add_list("but", report.notes);
    page.add("in", report.working_folder, 1);
    page.add_whole("repeat", command_lines(report));
    for (const std::string& next : report.next)
        page.add(&next == &report.next.front() ? "try" : "", next);
    page.render(kReportLines - verdict.size(), out);
}

}  // namespace aoti_dbg

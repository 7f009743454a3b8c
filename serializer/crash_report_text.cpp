// A report as a screen: at most kReportLines lines of kReportColumns characters, whatever names there are.
// Where there is more to say, the longest part gives way first; report.json has all of it.
#include <algorithm>
#include <cstdint>

#include "base/words.hpp"
#include "serializer/clean_text.hpp"
#include "serializer/crash_report.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kValue = 14;  // where values begin
constexpr std::size_t kValueColumns = kReportColumns - kValue;
constexpr std::size_t kVerdictLines = 4;
constexpr std::size_t kValueLines = 4;

std::size_t characters_in(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// Clean text in lines of at most `width` characters, cut between words; of a word or a last line that is too
/// long the middle goes.
std::vector<std::string> wrapped(std::string_view text, std::size_t width, std::size_t most) {
    std::string rest;
    append_clean(text, rest);
    std::vector<std::string> lines;
    while (lines.size() + 1 < most && characters_in(rest) > width) {
        // A line of that many bytes has no more characters.
        const std::size_t blank = rest.rfind(' ', width);
        if (blank == std::string::npos || blank == 0) break;
        lines.push_back(rest.substr(0, blank));
        rest.erase(0, blank + 1);
    }
    append_shortened(rest, width, lines.emplace_back());
    return lines;
}

struct Section {
    std::string name;
    std::vector<std::string> lines;
    bool is_list = false;
};

class Page {
  public:
    /// One value, over as many lines as it takes.
    void add(const char* name, std::string_view value, std::size_t most = kValueLines) {
        if (!value.empty()) sections_.push_back({name, wrapped(value, kValueColumns, most)});
    }
    /// One line each.
    void add_list(const char* name, const std::vector<std::string>& values) {
        Section section{name, {}, true};
        for (const std::string& value : values)
            append_shortened(value, kValueColumns, section.lines.emplace_back());
        if (!values.empty()) sections_.push_back(std::move(section));
    }
    void render(std::size_t most_lines, std::string& out) {
        while (lines() > most_lines && shorten_longest()) {
        }
        for (const Section& section : sections_) {
            for (std::size_t i = 0; i < section.lines.size(); ++i) {
                std::string name = i == 0 ? "  " + section.name : "";
                name.resize(kValue, ' ');
                out.append(name).append(section.lines[i]).append("\n");
            }
        }
    }

  private:
    [[nodiscard]] std::size_t lines() const {
        std::size_t count = 0;
        for (const Section& section : sections_)
            count += section.lines.size();
        return count;
    }
    /// Of several a list, whose lines tell of different things. False where each has but one line.
    bool shorten_longest() {
        const auto longest =
            std::max_element(sections_.begin(), sections_.end(), [](const Section& a, const Section& b) {
                return std::pair(a.lines.size(), a.is_list) < std::pair(b.lines.size(), b.is_list);
            });
        if (longest == sections_.end() || longest->lines.size() < 2) return false;
        longest->lines.pop_back();
        std::string& last = longest->lines.back();
        if (last.size() < 4 || last.compare(last.size() - 4, 4, " ...") != 0) {
            std::string cut;
            append_shortened(last, kValueColumns - 4, cut);
            last = cut + " ...";
        }
        return true;
    }

    std::vector<Section> sections_;
};

std::string address_text(std::uint64_t address) {
    std::string text = "0x";
    append_short_hex(address, text);
    return text;
}

std::string ending_text(const CrashEnd& end) {
    std::string text = "process " + std::to_string(end.pid);
    if (!end.program.empty()) text += ", " + end.program;
    const std::string status = end.exit_status ? "exit status " + std::to_string(*end.exit_status) : "";
    if (end.signal != 0) text += ", by " + signal_name(end.signal);
    if (end.address) text += " at address " + address_text(*end.address);
    if (end.signal == 0 && end.is_descendant && !end.is_in_good_order) text += ", in no good order";
    if (status.empty()) return text;
    if (!end.is_descendant) return text + ", " + status;
    return text + (*end.exit_status == 0 ? ", after which the program ended well"
                                         : ", which the program made its " + status);
}

std::string whereabouts(const CrashCall& call) {
    const std::string inside = call.inside.empty() ? "" : ", inside " + call.inside;
    std::string text = call_text(call) + inside + ", launch " + std::to_string(call.sequence) + ", thread " +
                       std::to_string(call.thread);
    if (call.model != ~0U) text += ", model " + std::to_string(call.model);
    if (!call.model_name.empty()) text += " (" + call.model_name + ")";
    if (call.line != 0) text += ", line " + std::to_string(call.line) + " of the wrapper source";
    return text;
}

void add_call(const CrashCall& call, Page& page) {
    page.add("call", whereabouts(call), 2);
    page.add("ATen", joined(call.original_aten, ", "), 1);
    page.add("nodes", joined(call.source_nodes, ", "), 1);
}

std::vector<std::string> texts_of(const std::vector<CrashCall>& calls) {
    std::vector<std::string> texts;
    for (const CrashCall& call : calls) {
        std::string& text = texts.emplace_back(call_text(call));
        if (call.left_by_exception) text += ", left by an exception";
        if (call.result != 0) text += ", error " + std::to_string(call.result);
    }
    return texts;
}

std::vector<std::string> texts_of(const std::vector<CrashArgument>& arguments, bool is_known) {
    std::vector<std::string> texts;
    texts.reserve(arguments.size());
    for (const CrashArgument& argument : arguments) {
        std::string text = argument.label + (argument.what.empty() ? "" : ": " + argument.what);
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

void add_device(const DeviceFault& fault, const std::vector<NearMemory>& allocations, Page& page) {
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

void add_hang(const Hang& hang, Page& page) {
    std::string text;
    for (const StuckCall& stuck : hang.calls)
        text += (text.empty() ? "" : "; ") + stuck_text(stuck);
    page.add("hangs", text);
    if (!hang.calls.empty()) page.add_list("callers", first_of(hang.calls.front().place.callers, 6));
    page.add_list("unended", texts_of(hang.unended));
}

/// Over some lines, as a shell takes it: cut at blanks between words. What cannot be cut so is shortened, and
/// said to be, since it could be taken for the command.
void add_command(std::string_view command, std::vector<std::string>& lines) {
    const std::size_t first = lines.size();
    std::string clean;
    append_clean(command, clean);
    std::string_view rest = command;
    while (clean == command && characters_in(rest) > kValueColumns && lines.size() - first < kValueLines) {
        std::size_t cut = 0;
        bool is_quoted = false;
        for (std::size_t i = 0; i < kValueColumns - 2; ++i) {
            if (rest[i] == '\'') is_quoted = !is_quoted;
            if (rest[i] == ' ' && !is_quoted) cut = i;
        }
        if (cut == 0) break;
        lines.push_back(std::string(rest.substr(0, cut)) + " \\");
        rest.remove_prefix(cut + 1);
    }
    if (clean != command || characters_in(rest) > kValueColumns) {
        lines.resize(first);
        append_shortened("(whole in report.json) " + std::string(command), kValueColumns,
                         lines.emplace_back());
    } else {
        lines.emplace_back(rest);
    }
}

std::vector<std::string> lines_of(const std::vector<std::string>& commands) {
    std::vector<std::string> lines;
    for (const std::string& command : commands)
        add_command(command, lines);
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

std::string environment_text(const CrashReport& report) {
    std::string text = "aoti-dbg " + report.library;
    for (const auto& [what, which] : report.environment)
        text.append(", ").append(what).append(" ").append(which);
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

void append_report_text(const CrashReport& report, std::string& out) {
    const std::vector<std::string> verdict =
        wrapped("aoti-dbg: " + report.verdict, kReportColumns, kVerdictLines);
    for (const std::string& line : verdict)
        out.append(line).append("\n");
    Page page;
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
    if (!report.faulted || report.without_source != 0) page.add_list("unended", texts_of(report.unended));
    if (report.shortage) page.add("memory", shortage_lines(*report.shortage), 2);
    if (report.in_flight.size() > 1) page.add_list("in flight", texts_of(report.in_flight));
    page.add_list("also open", texts_of(report.also_in_flight));
    page.add_list("before", texts_of(report.before));
    const bool is_known = report.device && report.device->accessed &&
                          !report.device->accessed->label.empty() && !report.device->accessed->is_likely;
    page.add_list("arguments", texts_of(report.arguments, is_known));
    page.add_list("written by", writers_of(report.arguments));
    if (report.finding) page.add("finding", finding_text(*report.finding), 2);
    page.add("seen", counts_text(report), 1);
    page.add("with", environment_text(report), 2);
    page.add_list("but", report.notes);
    page.add_list("repeat", lines_of(report.repeat));
    for (const std::string& next : report.next)
        page.add(&next == &report.next.front() ? "try" : "", next);
    page.render(kReportLines - verdict.size(), out);
}

}  // namespace aoti_dbg

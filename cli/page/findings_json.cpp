// See findings_json.hpp.
#include "cli/page/findings_json.hpp"

#include "cli/page/page_text.hpp"
#include "serializer/codes.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg::cli {
namespace {

/// Texts of a finding have no limit of their own.
std::string cut_text(const std::string& text) {
    constexpr std::size_t kMost = 2000;
    return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

void append_number_member(std::string_view name, std::int64_t number, std::string& out) {
    append_name(name, out);
    append_integer(number, out);
}

std::string shape_text(const FindingTensor& tensor) {
    std::string text = tensor.dtype;
    if (!tensor.sizes_known) return text;
    text += " [";
    for (const std::int64_t size : tensor.sizes)
        text += (text.back() == '[' ? "" : ", ") + std::to_string(size);
    return text + "]";
}

/// Returns the sentence without the code, which is its own member.
std::string sentence_of(const Finding& finding) {
    std::string text = finding_sentence(finding);
    const std::size_t end = text.starts_with("aoti-dbg ") ? text.find(": ") : std::string::npos;
    return end == std::string::npos ? text : text.substr(end + 2);
}

/// Returns a sentence for a confidential page. The finding's own sentence can contain values.
std::string confidential_sentence(const Finding& finding) {
    const std::string& label = finding.tensor.label;
    const std::string at = finding.kernel.empty() ? "" : " at " + finding.kernel;
    if (finding.kind == Finding::Kind::argument)
        return "wrong " + (finding.check.empty() ? std::string("argument") : finding.check) +
               (label.empty() ? "" : " of " + label) + at;
    const bool is_infinite = finding.kind == Finding::Kind::inf;
    return std::string(is_infinite ? "Inf" : "NaN") + (label.empty() ? "" : " in " + label) + at;
}

void append_tensor(const FindingTensor& tensor, bool is_confidential, std::string& out) {
    append_name("tensor", out);
    out += '{';
    append_text_member("label", cut_text(tensor.label), out);
    append_some_text("fqn", cut_text(tensor.original_fqn), out);
    const bool is_there = !tensor.label.empty() || !tensor.dtype.empty();
    std::string what = shape_text(tensor);
    if (!is_confidential && is_there && tensor.scalar.empty())
        what += (what.empty() ? "" : ", ") + measured_text(tensor);
    if (!is_confidential && !tensor.scalar.empty()) what = tensor.scalar;
    append_some_text("what", cut_text(what), out);
    out += '}';
}

/// Returns the call that wrote the tensor of the finding.
std::string writer_of(const Finding& finding) {
    if (finding.kernel.empty() || finding.kernel == kModelInputs) return {};
    return finding.call == kNoCallNumber ? finding.kernel
                                         : finding.kernel + " (call " + std::to_string(finding.call) + ")";
}

void append_finding(const Page& page, const PageFinding& one, const RowJson& rows, std::string& out) {
    const Finding& finding = one.finding;
    append_comma(out);
    out += '{';
    const std::uint32_t code = code_of(finding);
    if (code != 0) append_text_member("code", code_text(code), out);
    append_text_member("sentence",
                       page.is_confidential ? confidential_sentence(finding) : cut_text(sentence_of(finding)),
                       out);
    const std::uint32_t kernel =
        one.row == kNoIndex32 ? kNoIndex32 : page.rows.sites[page.rows.rows[one.row].site].kernel;
    append_number_member("kernel", number_or_none(kernel), out);
    append_some_text("kernel_name", cut_text(finding.kernel), out);
    append_number_member("process", number_or_none(one.process), out);
    append_number_member("model", number_or_none(one.model), out);
    append_number_member("run", number_or_none(finding.run), out);
    append_number_member("call", number_or_none(finding.call), out);
    append_number_member("row", one.row == kNoIndex32 ? -1 : rows.number_of(one.row), out);
    append_count_member("line", finding.line, out);
    append_tensor(finding.tensor, page.is_confidential, out);
    append_some_text("writer", cut_text(writer_of(finding)), out);
    append_count_member("count", one.count, out);
    append_some_text("suppression", cut_text(finding.suppression), out);
    if (!page.is_confidential) {
        // A command without its end would do something else.
        if (one.repeat == cut_text(one.repeat)) append_some_text("repeat", one.repeat, out);
        append_some_text("expected", cut_text(finding.expected), out);
        append_some_text("found", cut_text(finding.found), out);
        append_some_text("advice", cut_text(finding.advice), out);
        if (finding.notes.size() < 20) append_texts_member("notes", finding.notes, out);
    }
    out += '}';
}

void append_process(const PageProcess& process, bool is_confidential, std::string& out) {
    append_comma(out);
    out += '{';
    append_count_member("pid", process.pid, out);
    append_some_text("rank", process.rank, out);
    if (!is_confidential) {
        append_some_text("command", process.command, out);
        append_some_text("host", process.host, out);
        append_some_text("folder", process.folder, out);
    }
    append_count_member("runs", process.runs, out);
    append_count_member("calls", process.calls, out);
    append_name("coverage", out);
    out += '{';
    for (const auto& [name, count] : process.coverage) {
        append_comma(out);
        append_page_text(name, out);
        out += ':';
        append_integer(count, out);
    }
    out += '}';
    if (!process.notes.empty() && !is_confidential) append_texts_member("notes", process.notes, out);
    out += '}';
}

}  // namespace

std::string recorded_json(const Page& page, const std::vector<std::string>& left_out) {
    std::uint64_t runs = 0;
    std::uint64_t calls = 0;
    for (const PageProcess& process : page.processes) {
        runs += process.runs;
        calls += process.calls;
    }
    std::string out = ",\"recorded\":{";
    if (!page.is_confidential) append_text_member("folder", page.folder, out);
    if (!page.processes.empty())
        append_text_member("start_ns", std::to_string(page.processes.front().start_ns), out);
    append_count_member("runs", runs, out);
    append_count_member("calls", calls, out);
    append_count_member("findings", page.finding_count, out);
    append_count_member("processes", page.processes.size(), out);
    append_texts_member("left_out", left_out, out);
    return out + "}";
}

namespace {

void append_verdict(const PageVerdict& verdict, bool is_confidential, std::string& out) {
    append_name("verdict", out);
    out += '{';
    append_text_member("state", verdict.state, out);
    append_some_text("sentence", cut_text(verdict.sentence), out);
    append_some_text("code", verdict.code, out);
    append_some_text("class", verdict.kind, out);
    if (!is_confidential) {
        append_some_text("report", verdict.report, out);
        append_texts_member("repeat", verdict.repeat, out);
        append_texts_member("try", verdict.advice, out);
    }
    out += '}';
}

void append_models(const Page& page, std::string& out) {
    append_name("models", out);
    out += '[';
    for (std::size_t i = 0; i < page.rows.models.size(); ++i) {
        const PageModel& model = page.rows.models[i];
        append_comma(out);
        out += '{';
        append_some_text("name", model.name, out);
        append_count_member("process", model.process, out);
        append_count_member("number", model.number, out);
        if (!page.is_confidential) append_some_text("path", model.path, out);
        if (i < page.packages.size()) append_some_text("package", page.packages[i], out);
        if (i < page.torch.size()) append_some_text("torch", page.torch[i], out);
        out += '}';
    }
    out += ']';
}

}  // namespace

std::string head_json(const Page& page) {
    std::string out = "{";
    append_text_member("format", "aoti-dbg-page", out);
    append_count_member("version", 1, out);
    append_text_member("library", page.processes.empty() ? "" : page.processes.front().library, out);
    append_name("confidential", out);
    out += page.is_confidential ? "true" : "false";
    if (!page.is_confidential && !page.processes.empty())
        append_some_text("title", page.processes.front().command, out);
    append_verdict(page.verdict, page.is_confidential, out);
    append_name("processes", out);
    out += '[';
    for (const PageProcess& process : page.processes)
        append_process(process, page.is_confidential, out);
    out += ']';
    append_models(page, out);
    append_name("sources", out);
    out += '[';
    for (const PageSource& source : page.sources) {
        append_comma(out);
        out += '{';
        append_text_member("name", source.name, out);
        append_count_member("first_line", source.first_line, out);
        append_text_member("text", source.text, out);
        out += '}';
    }
    return out + "]";
}

std::string findings_json(const Page& page, const RowJson& rows) {
    std::string out = ",\"findings\":[";
    for (const PageFinding& finding : page.findings)
        append_finding(page, finding, rows, out);
    return out + "]";
}

std::string diff_json(const Page& page, const RowJson& rows) {
    if (!page.diff.is_there) return ",\"diff\":null";
    std::string out = ",\"diff\":{";
    append_text_member("sentence", page.diff.sentence, out);
    if (!page.is_confidential) {
        append_text_member("text", page.diff.text, out);
        append_text_member("other", page.diff.other, out);
    }
    append_name("rows", out);
    out += '[';
    for (const auto& [row, what] : page.diff.rows) {
        if (rows.number_of(row) < 0) continue;
        append_comma(out);
        out += '[';
        append_integer(rows.number_of(row), out);
        out += ',';
        append_page_text(page.is_confidential ? "differs" : what, out);
        out += ']';
    }
    return out + "]}";
}

}  // namespace aoti_dbg::cli

#include "cli/show/event_printer.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

namespace aoti_dbg::cli {
namespace {

bool is_color_supported() {
    const char* const terminal = std::getenv("TERM");
    const char* const no_color = std::getenv("NO_COLOR");
    if (no_color != nullptr && *no_color != '\0') return false;
    return isatty(STDOUT_FILENO) == 1 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

}  // namespace

EventPrinter::EventPrinter(OutputFormat format, std::optional<std::uint64_t> thread, std::string folder,
                           const TorchTrace* trace)
    : format_(format),
      thread_(thread),
      compact_(is_color_supported()),
      folder_(std::move(folder)),
      origins_(processes_, trace) {}

void EventPrinter::print(const ReadEvent& event, std::string& out) {
    if (event.kind == ReadEvent::Kind::header) pid_ = static_cast<std::uint32_t>(event.header.pid);
    if (event.type == "finding") return print_finding(event, out);
    const bool is_call = event.kind == ReadEvent::Kind::call;
    if (is_call && thread_ && event.call.thread != *thread_) return;
    shown_ += is_call ? 1 : 0;
    if (format_ == OutputFormat::jsonl) {
        out.append(event.line).append("\n");
    } else if (is_call && format_ == OutputFormat::text) {
        text_.render(event.call, out);
    } else if (is_call) {
        compact_.render(event.call, out);
    }
}

/// Prints a finding in its place among the calls, as in the log. Skips findings of an unknown version.
void EventPrinter::print_finding(const ReadEvent& event, std::string& out) {
    Result<Finding> finding = read_finding(event.line);
    if (format_ == OutputFormat::jsonl) {
        out.append(event.line).append("\n");
    } else if (finding.ok() && (!thread_ || finding.value().thread == *thread_)) {
        complete(finding.value());
        append_finding_text(finding.value(), out);
        ++shown_;
    }
}

/// Adds where the kernel comes from, according to the package beside the events.
void EventPrinter::complete(Finding& finding) {
    if (processes_.empty()) processes_ = recorded_processes(folder_, 0);
    origins_.complete(pid_, finding);
}

}  // namespace aoti_dbg::cli

// Reads events.jsonl and writes the rendered text in pieces, so a file may have any size. Standard output
// gets only events. Messages about the file go to standard error.
#include "cli/show/show_events.hpp"

#include <unistd.h>

#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "cli/print.hpp"
#include "cli/recorded_file.hpp"
#include "cli/show/find_recorded.hpp"
#include "cli/torch_trace_option.hpp"
#include "model/torch_trace.hpp"
#include "serializer/event_compact.hpp"
#include "serializer/event_reader.hpp"
#include "serializer/event_text.hpp"
#include "serializer/finding.hpp"
#include "triage/gather/origin_facts.hpp"

namespace aoti_dbg::cli {
namespace {

bool is_color_supported() {
    const char* const terminal = std::getenv("TERM");
    const char* const no_color = std::getenv("NO_COLOR");
    if (no_color != nullptr && *no_color != '\0') return false;
    return isatty(STDOUT_FILENO) == 1 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

/// Renders one event after another in the requested format.
class Renderer {
  public:
    Renderer(const ShowEventsRequest& request, std::string folder, const TorchTrace* trace)
        : request_(request),
          compact_(is_color_supported()),
          folder_(std::move(folder)),
          origins_(processes_, trace) {}

    void render(const ReadEvent& event, std::string& out) {
        if (event.kind == ReadEvent::Kind::header) pid_ = static_cast<std::uint32_t>(event.header.pid);
        if (event.type == "finding") return render_finding(event, out);
        const bool is_call = event.kind == ReadEvent::Kind::call;
        if (is_call && request_.thread && event.call.thread != *request_.thread) return;
        shown_ += is_call ? 1 : 0;
        if (request_.format == OutputFormat::jsonl) {
            out.append(event.line).append("\n");
        } else if (is_call && request_.format == OutputFormat::text) {
            text_.render(event.call, out);
        } else if (is_call) {
            compact_.render(event.call, out);
        }
    }
    [[nodiscard]] std::uint64_t shown() const { return shown_; }

  private:
    /// Renders a finding in its place among the calls, as in the log. Skips findings of an unknown version.
    void render_finding(const ReadEvent& event, std::string& out) {
        Result<Finding> finding = read_finding(event.line);
        if (request_.format == OutputFormat::jsonl) {
            out.append(event.line).append("\n");
        } else if (finding.ok() && (!request_.thread || finding.value().thread == *request_.thread)) {
            complete(finding.value());
            append_finding_text(finding.value(), out);
            ++shown_;
        }
    }

    /// Adds where the kernel comes from, as the package beside the events says.
    void complete(Finding& finding) {
        if (processes_.empty()) processes_ = recorded_processes(folder_, 0);
        origins_.complete(pid_, finding);
    }

    const ShowEventsRequest& request_;
    TextRenderer text_;
    CompactRenderer compact_;
    std::uint64_t shown_ = 0;  // calls and findings
    std::string folder_;
    std::uint32_t pid_ = 0;
    std::vector<RecordedProcess> processes_;  // read at the first finding
    OriginFacts origins_;
};

/// Returns the exit code for a file without an event to show.
int report_no_match(const char* path, const std::optional<std::uint64_t>& thread) {
    if (thread) {
        error_message(ErrorCode::no_match, "%s has no call of thread %" PRIu64 ".", path, *thread);
        return 1;
    }
    message(Severity::info, "%s has no calls.", path);
    return 0;
}

}  // namespace

int show_events(const ShowEventsRequest& request) {
    const std::optional<Result<TorchTrace>> trace =
        request.torch_trace.empty() ? std::nullopt : std::optional(TorchTrace::read(request.torch_trace));
    if (trace && !trace->ok()) return refuse_torch_trace(trace->status());
    const Result<FoundFile> found = find_recorded(request.place, Recorded::events);
    if (!found.ok()) {
        error_message(ErrorCode::nothing_recorded, "%s.", found.status().message().c_str());
        return 1;
    }
    const char* const path = found.value().path.c_str();
    RecordedFile file(path);
    if (file.error() != 0) {
        error_message(ErrorCode::unreadable_recording, "cannot open %s: %s.", path,
                      errno_text(file.error()).c_str());
        return 1;
    }
    if (!found.value().others.empty()) {
        message(Severity::info, "showing %s. Other event files here: %zu.", path,
                found.value().others.size());
    }
    EventReader reader([&file](char* to, std::size_t bytes) { return file.read(to, bytes); });
    const std::string folder = std::filesystem::path(found.value().path).parent_path().string();
    Renderer renderer(request, folder.empty() ? "." : folder, trace ? &trace->value() : nullptr);
    Output output;
    ReadEvent event;
    std::uint64_t events = 0;
    bool has_reader = true;
    while (has_reader && reader.next(event)) {
        ++events;
        renderer.render(event, output.text);
        has_reader = output.flush_if_large();
    }
    if (!has_reader || !output.flush()) return output.exit_code();
    if (file.error() != 0) {
        error_message(ErrorCode::unreadable_recording, "cannot read %s: %s.", path,
                      errno_text(file.error()).c_str());
        return 1;
    }
    if (events == 0 && reader.notes().lines != 0) {
        error_message(ErrorCode::unreadable_recording, "%s has no events. Give an events.jsonl.", path);
        return 1;
    }
    warn_of_gaps(path, reader.notes());
    return renderer.shown() != 0 ? 0 : report_no_match(path, request.thread);
}

}  // namespace aoti_dbg::cli

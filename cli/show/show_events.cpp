// Reads events.jsonl and writes the rendered text in pieces, so a file may have any size. Standard output
// gets only events. Messages about the file go to standard error.
#include "cli/show/show_events.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "cli/show/find_recorded.hpp"
#include "serializer/event_compact.hpp"
#include "serializer/event_reader.hpp"
#include "serializer/event_text.hpp"
#include "serializer/finding.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kPiece = std::size_t{256} * 1024;

/// Buffers standard output in large pieces.
class Output {
  public:
    std::string text;

    /// Returns false if the reader closed the pipe or the write failed.
    bool flush_if_large() { return text.size() < kPiece || flush(); }
    bool flush() {
        std::string_view rest = text;
        while (!rest.empty() && error_ == 0) {
            const ssize_t written = write(STDOUT_FILENO, rest.data(), rest.size());
            if (written >= 0) {
                rest.remove_prefix(static_cast<std::size_t>(written));
            } else if (errno != EINTR) {
                error_ = errno;
            }
        }
        text.clear();
        return error_ == 0;
    }
    /// A closed pipe (`| head`) is not a failure.
    [[nodiscard]] bool has_failed() const { return error_ != 0 && error_ != EPIPE; }
    [[nodiscard]] std::string why() const { return errno_text(error_); }

  private:
    int error_ = 0;
};

bool wants_colour() {
    const char* const terminal = std::getenv("TERM");
    const char* const refused = std::getenv("NO_COLOR");
    if (refused != nullptr && *refused != '\0') return false;
    return isatty(STDOUT_FILENO) == 1 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

/// Renders one event after another in the requested format.
class Renderer {
  public:
    explicit Renderer(const ShowEventsRequest& request) : request_(request), compact_(wants_colour()) {}

    void render(const ReadEvent& event, std::string& out) {
        if (event.type == "finding") return render_finding(event, out);
        const bool is_call = event.kind == ReadEvent::Kind::call;
        if (is_call && request_.thread && event.call.thread != *request_.thread) return;
        shown_ += is_call ? 1 : 0;
        if (request_.format == EventFormat::jsonl) {
            out.append(event.line).append("\n");
        } else if (event.type == "finding") {
            if (const Result<Finding> finding = read_finding(event.line); finding.ok())
                append_finding_text(finding.value(), out);
        } else if (is_call && request_.format == EventFormat::text) {
            text_.render(event.call, out);
        } else if (is_call) {
            compact_.render(event.call, out);
        }
    }
    [[nodiscard]] std::uint64_t shown() const { return shown_; }

  private:
    /// Renders a finding in its place among the calls, as in the log. Skips findings of an unknown version.
    void render_finding(const ReadEvent& event, std::string& out) {
        const Result<Finding> finding = read_finding(event.line);
        if (request_.format == EventFormat::jsonl) {
            out.append(event.line).append("\n");
        } else if (finding.ok() && (!request_.thread || finding.value().thread == *request_.thread)) {
            append_finding_text(finding.value(), out);
            ++shown_;
        }
    }

    const ShowEventsRequest& request_;
    TextRenderer text_;
    CompactRenderer compact_;
    std::uint64_t shown_ = 0;  // calls and findings
};

void say_what_was_met(const char* path, const ReadNotes& notes) {
    if (notes.is_newer) {
        message(Severity::warn,
                "%s is of a newer version than this aoti-dbg. Unknown parts are left out. Use the aoti-dbg "
                "of the "
                "library that wrote it.",
                path);
    }
    if (notes.damaged != 0) {
        message(Severity::warn,
                "%s: %" PRIu64 " of %" PRIu64 " lines are damaged and left out. The first is line %" PRIu64
                ".",
                path, notes.damaged, notes.lines, notes.first_damaged);
    }
    if (notes.is_cut) {
        message(Severity::info,
                "%s: the last line is incomplete and left out. The program was killed, or is still writing.",
                path);
    }
}

}  // namespace

int show_events(const ShowEventsRequest& request) {
    const Result<FoundFile> found = find_recorded(request.place, Recorded::events);
    if (!found.ok()) {
        error_message(ErrorCode::nothing_recorded, "%s.", found.status().message().c_str());
        return 1;
    }
    const char* const path = found.value().path.c_str();
    const Descriptor file(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (file.number() < 0) {
        error_message(ErrorCode::unreadable_recording, "cannot open %s: %s.", path,
                      errno_text(errno).c_str());
        return 1;
    }
    if (!found.value().others.empty()) {
        message(Severity::info, "showing %s. Other event files here: %zu.", path,
                found.value().others.size());
    }
    std::signal(SIGPIPE, SIG_IGN);
    int read_error = 0;
    EventReader reader([&file, &read_error](char* to, std::size_t bytes) {
        for (;;) {
            const ssize_t got = read(file.number(), to, bytes);
            if (got >= 0) return static_cast<std::size_t>(got);
            if (errno == EINTR) continue;
            read_error = errno;
            return std::size_t{0};
        }
    });
    Renderer renderer(request);
    Output output;
    ReadEvent event;
    std::uint64_t events = 0;
    bool goes_on = true;
    while (goes_on && reader.next(event)) {
        ++events;
        renderer.render(event, output.text);
        goes_on = output.flush_if_large();
    }
    if (goes_on) goes_on = output.flush();
    if (output.has_failed()) {
        error_message(ErrorCode::output_not_written, "cannot write to standard output: %s.",
                      output.why().c_str());
        return 1;
    }
    if (!goes_on) return 0;
    if (read_error != 0) {
        error_message(ErrorCode::unreadable_recording, "cannot read %s: %s.", path,
                      errno_text(read_error).c_str());
        return 1;
    }
    if (events == 0 && reader.notes().lines != 0) {
        error_message(ErrorCode::unreadable_recording, "%s has no events. Give an events.jsonl.", path);
        return 1;
    }
    say_what_was_met(path, reader.notes());
    if (renderer.shown() != 0) return 0;
    if (request.thread) {
        error_message(ErrorCode::no_match, "%s has no call of thread %" PRIu64 ".", path, *request.thread);
        return 1;
    }
    message(Severity::info, "%s has no calls.", path);
    return 0;
}

}  // namespace aoti_dbg::cli

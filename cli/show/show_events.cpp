// Reads events.jsonl and writes the rendered text in pieces, so a file may have any size. Standard output
// gets only events. Messages about the file go to standard error.
#include "cli/show/show_events.hpp"

#include <cinttypes>
#include <filesystem>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "cli/print.hpp"
#include "cli/recorded_file.hpp"
#include "cli/show/event_printer.hpp"
#include "cli/show/find_recorded.hpp"
#include "serializer/event_reader.hpp"

namespace aoti_dbg::cli {
namespace {

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
    EventPrinter printer(request.format, request.thread, folder.empty() ? "." : folder, request.trace);
    Output output;
    ReadEvent event;
    std::uint64_t events = 0;
    bool has_reader = true;
    while (has_reader && reader.next(event)) {
        ++events;
        printer.print(event, output.text);
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
    return printer.shown() != 0 ? 0 : report_no_match(path, request.thread);
}

}  // namespace aoti_dbg::cli

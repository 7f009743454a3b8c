// Prints a flight ring: its process, how that ended, and the last calls as a table. Text from the file is
// made safe for a terminal first. It must never write to the ring's directory.
#include "cli/show/show.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/clean_text.hpp"
#include "base/message.hpp"
#include "base/words.hpp"
#include "cli/duration_text.hpp"
#include "cli/print.hpp"
#include "cli/show/call_words.hpp"
#include "cli/show/find_recorded.hpp"
#include "cli/show/local_time.hpp"
#include "cli/text_table.hpp"
#include "serializer/crash_call.hpp"
#include "serializer/flight_ring_reader.hpp"
#include "serializer/ring_clock.hpp"

namespace aoti_dbg::cli {
namespace {

using ring::Call;
using ring::Contents;
using ring::FileHeader;
using ring::Record;

// Longer names shift the state column instead of widening every line.
constexpr std::uint32_t kDeepestRecordIndent = 16;
constexpr std::size_t kOthersShown = 8;

std::string how_it_ended(const FileHeader& header) {
    if (header.ended != 0) return "normally";
    std::error_code failed;
    const std::filesystem::path link = "/proc/" + std::to_string(header.pid) + "/exe";
    if (std::filesystem::read_symlink(link, failed) == header.program && !failed)
        return "not yet: still running";
    return "abnormally: killed, crashed, or replaced by exec";
}

std::string summary(const std::string& path, const Contents& contents, const std::vector<Call>& calls) {
    const FileHeader& header = contents.header;
    // The threads' own counts would be wrong, because another thread reuses a ring when its thread ends.
    const std::uint64_t begun = calls.empty() ? 0 : calls.back().record->seq;
    const auto open =
        std::count_if(calls.begin(), calls.end(), [](const Call& c) { return is_open(*c.record); });
    std::string text = "ring      " + clean_text(path) + "\n";
    text += "program   " + clean_text(header.program) + "\n";
    text += "process   " + std::to_string(header.pid) + ", started " +
            local_time(static_cast<std::time_t>(header.start_unix_ns / 1000000000U)).value_or("?") + "\n";
    text += "ended     " + how_it_ended(header) + "\n";
    text += "runs      " + std::to_string(header.runs) + "\n";
    text += "calls     " + std::to_string(begun) + ", the last " + std::to_string(calls.size()) +
            " kept of " + std::to_string(contents.threads.size()) +
            (contents.threads.size() == 1 ? " thread, " : " threads, ") + std::to_string(open) +
            " did not end\n";
    for (const std::string& note : contents.notes)
        text += "damaged   " + note + "\n";
    return text;
}

/// Selects the last calls, and earlier calls that never ended, because a hang is about those.
std::vector<Call> selected(const std::vector<Call>& calls, const ShowRequest& request) {
    std::vector<Call> chosen;
    for (const Call& call : calls) {
        if (!request.thread || call.thread->tid == *request.thread) chosen.push_back(call);
    }
    if (request.all || chosen.size() <= request.last) return chosen;
    const auto tail = chosen.end() - static_cast<std::ptrdiff_t>(request.last);
    const auto open_end =
        std::stable_partition(chosen.begin(), tail, [](const Call& c) { return is_open(*c.record); });
    chosen.erase(open_end, tail);
    return chosen;
}

std::string device_of(const Contents& contents, const Record& record) {
    const ring::DeviceContext* const context = contents.context_of(record);
    return context == nullptr ? "-" : device_name(context->device);
}

std::string table(const Contents& contents, const std::vector<Call>& calls, const std::vector<Call>& all) {
    const double tick = RingClock(contents.header).tick_ns();
    std::uint64_t end = 0;
    for (const Call& call : all)
        end = std::max({end, call.record->begin_ticks, call.record->end_ticks});
    std::uint32_t shallowest = UINT32_MAX;
    for (const Call& call : calls)
        shallowest = std::min<std::uint32_t>(shallowest, call.record->depth);

    std::vector<TableRow> rows = {
        {"seq", "before end", "thread", "device", "run", "call", "kind", "name", "state"}};
    std::vector<bool> to_the_right = {true, true, true, false, true, true, false, false, false};
    for (const Call& call : calls) {
        const Record& record = *call.record;
        const std::uint32_t depth = std::min(record.depth - shallowest, kDeepestRecordIndent);
        rows.push_back(
            {std::to_string(record.seq), duration_text(static_cast<double>(end - record.begin_ticks) * tick),
             std::to_string(call.thread->tid), device_of(contents, record), unless(record.run, ring::kNoRun),
             unless(record.call, ring::kNoCall), word_for(record.kind),
             std::string(2UL * depth, ' ') + clean_text(contents.name(record.name)), state_of(record)});
    }
    const auto leave_out = [&](std::ptrdiff_t column) {
        for (TableRow& row : rows)
            row.erase(row.begin() + column);
        to_the_right.erase(to_the_right.begin() + column);
    };
    if (!contents.has_several_devices()) leave_out(3);
    if (tick == 0) leave_out(1);
    return aligned(rows, to_the_right);
}

std::string threads_of(const Contents& contents) {
    std::string text;
    for (const ring::Thread& thread : contents.threads) {
        text += (text.empty() ? "" : ", ") + std::to_string(thread.tid);
    }
    return text;
}

}  // namespace

int show(const ShowRequest& request) {
    const Result<FoundFile> found = find_recorded(request.place, Recorded::ring);
    if (!found.ok()) {
        error_message(ErrorCode::nothing_recorded, "%s.", found.status().message().c_str());
        return 1;
    }
    const Result<Contents> read = ring::read_flight_ring(found.value().path);
    if (!read.ok()) {
        error_message(
            ErrorCode::unreadable_recording,
            "%s. Give a flight.ring or an output directory. For the tensors in an events.jsonl, add "
            "--format text.",
            read.status().message().c_str());
        return 1;
    }
    const Contents& contents = read.value();
    const std::vector<Call> calls = ring::merged_calls(contents);
    const std::vector<Call> chosen = selected(calls, request);
    if (request.thread && chosen.empty()) {
        error_message(ErrorCode::no_match, "no call of thread %u is in the ring. Its threads are: %s.",
                      *request.thread, threads_of(contents).c_str());
        return 1;
    }
    std::string text = summary(found.value().path, contents, calls) + "\n";
    text += chosen.empty() ? "no calls\n" : table(contents, chosen, calls);
    const std::vector<std::string>& others = found.value().others;
    if (!others.empty()) text += "\nother rings here, newest first:\n";
    for (std::size_t i = 0; i < std::min(others.size(), kOthersShown); ++i)
        text += "  " + clean_text(others[i]) + "\n";
    return print(text);
}

}  // namespace aoti_dbg::cli

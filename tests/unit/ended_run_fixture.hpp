// Hand-written flight rings of a finished run, and the report on them. Shared by the tests of whose end is
// reported. Contains no checks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/ring_writer.hpp"
#include "tests/support/run_program.hpp"
#include "triage/gather/gather.hpp"
#include "triage/judge/verdict.hpp"
#include "triage/render/report_text.hpp"

namespace aoti_dbg::test {

inline constexpr std::uint32_t kStarted = 4'000'100;  // above every real process id
inline constexpr std::uint32_t kChild = 4'000'200;
inline constexpr int kExit1 = 1 << 8;

/// The ring of one process, with names by their index in `names`.
struct Process {
    ring::FileHeader header = file_header();
    std::vector<std::string> names = {"strg::bomb", "AOTInductorModelContainerRun", "strg::other"};
    std::vector<std::pair<std::uint32_t, std::vector<ring::Record>>> threads;
    std::string events;
    std::string libtorch;  // the one its model calls, from the evidence
    std::string facts;     // its own facts, as in process.jsonl

    explicit Process(std::uint32_t pid, int signal = 0, std::uint32_t signal_thread = 0) {
        header.pid = pid;
        header.runs = 0;
        header.signal = static_cast<std::uint32_t>(signal);
        header.signal_thread = signal_thread;
    }
    Process& with(std::uint32_t tid, const std::vector<ring::Record>& records) {
        threads.emplace_back(tid, records);
        return *this;
    }
    [[nodiscard]] std::string bytes() const {
        std::string text = file_start(header) + names_block(names);
        for (const auto& [tid, records] : threads)
            text += thread_block(tid, records);
        return text;
    }
};

inline Process exited_normally(std::uint32_t pid) {
    Process process(pid);
    process.header.ended = 1;
    return process.with(pid, {record(1, 2)});
}

inline ring::Record in_run(ring::Record record, std::uint32_t run) {
    record.run = run;
    return record;
}

inline ring::Record open_run(std::uint64_t seq, std::uint32_t run) {
    ring::Record result = in_run(open_record(seq, 1), run);
    result.kind = ring::CallKind::run;
    result.call = ring::kNoCall;
    result.model = 0;
    return result;
}

inline ring::Record ended_run(std::uint64_t seq, std::uint32_t run) {
    ring::Record result = open_run(seq, run);
    result.flags = ring::kEnded;
    result.end_ticks = result.begin_ticks + 10;
    return result;
}

/// A file of events with a wrong input in each of these runs, in their order.
inline std::string events_of(const std::vector<std::uint32_t>& runs) {
    std::string text = "{\"event\":\"start\",\"start_ns\":1800000000000000000,\"pid\":4000100}\n";
    for (const std::uint32_t run : runs) {
        Finding finding;
        finding.kind = Finding::Kind::argument;
        finding.kernel = kModelInputs;
        finding.check = "size";
        finding.expected = "8";
        finding.found = std::to_string(run);
        finding.model = 0;
        finding.run = run;
        finding.time_ns = run;
        finding.tensor.label = "arg0_1";
        append_finding_json(finding, text);
        if (text.back() != '\n') text += "\n";
    }
    return text;
}

/// The report of a run that ended with `status` and left these rings, in the order of their starts.
inline Report report_of(int status, const std::vector<Process>& processes, bool has_status = true,
                        std::optional<Seen> seen = {}) {
    const TempFolder folder;
    for (std::size_t i = 0; i < processes.size(); ++i) {
        Process process = processes[i];
        process.header.start_unix_ns += i;
        const std::filesystem::path place = folder.path() / ("w" + std::to_string(i));
        std::filesystem::create_directories(place);
        write_text(place / "flight.ring", process.bytes());
        if (!process.events.empty()) write_text(place / "events.jsonl", process.events);
        if (!process.libtorch.empty()) {
            std::filesystem::create_directories(place / "evidence/model-1");
            write_text(place / "evidence/model-1/library.json",
                       "{\"torch_library\":\"" + process.libtorch + "\"}");
        }
        if (!process.facts.empty()) write_text(place / "process.jsonl", process.facts);
    }
    EndedRun run;
    run.command = {"./start"};
    run.folder = folder.path();
    run.pid = static_cast<pid_t>(kStarted);
    run.status = status;
    run.has_status = has_status;
    run.seen = seen;
    Report report{gather(run), {}};
    report.verdict = judge(report.evidence);
    return report;
}

inline std::string text_of(const Report report) {
    return report_text(report);
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

inline bool has_note(const Report report, const std::string& words) {
    return std::any_of(report.evidence.notes.begin(), report.evidence.notes.end(),
                       [&](const std::string& note) { return contains(note, words); });
}

}  // namespace aoti_dbg::test

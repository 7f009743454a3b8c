#include "cli/trace/trace.hpp"

#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "base/file_failure.hpp"
#include "base/mapped_file.hpp"
#include "base/message.hpp"
#include "base/words.hpp"
#include "cli/print.hpp"
#include "cli/recorded_file.hpp"
#include "cli/torch_trace_option.hpp"
#include "cli/trace/call_origins.hpp"
#include "cli/trace/device_spans.hpp"
#include "cli/trace/host_calls.hpp"
#include "serializer/process_file.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = std::size_t{1} << 20U;

/// Writes one process after another.
class Traced {
  public:
    Traced(const TorchTrace* logs, NewFile& file, TraceCounts& counts)
        : file_(file), counts_(counts), origins_(logs) {}

    Status add(const ProcessFiles& files) {
        files_ = &files;
        read_ring();
        facts_ = {};
        if (!files.ring.empty()) read_facts();
        HostProcess process;
        process.index = ++counts_.processes;
        process.pid = static_cast<std::uint32_t>(files.pid);
        process.has_device_spans = !files.timeline.empty();
        process.ring = ring_ ? &*ring_ : nullptr;
        CallOrigins origins(origins_, files.folder, {process.pid, ring_ ? ring_->header.start_unix_ns : 0});
        process.origins = files.folder.empty() ? nullptr : &origins;
        HostCalls calls(packets_, process);
        is_described_ = false;
        if (!files.events.empty()) read_events(process, calls);
        describe(process, {});
        calls.finish();
        counts_.calls += calls.calls();
        if (!files.timeline.empty()) read_timeline(process);
        flush();
        return std::move(failed_);
    }

    /// True if the logs have a compilation of none of the models.
    [[nodiscard]] bool is_foreign_trace() const { return origins_.is_foreign_trace(); }

  private:
    void read_ring() {
        ring_.reset();
        if (files_->ring.empty()) return;
        Result<ring::Contents> contents = ring::read_flight_ring(files_->ring);
        if (contents.ok()) {
            ring_ = std::move(contents.value());
        } else {
            message(Severity::warn, "%s. Calls that only the ring has are left out.",
                    contents.status().message().c_str());
        }
    }

    void read_facts() {
        const Result<MappedFile> file = MappedFile::open(process_path(files_->ring));
        if (!file.ok()) return;
        Result<ProcessFacts> facts = read_process(file.value().text());
        if (facts.ok() && facts.value().pid == files_->pid) facts_ = std::move(facts.value());
    }

    /// Writes the track of the process, before all others.
    void describe(const HostProcess& process, const HeaderFacts& header) {
        if (is_described_) return;
        is_described_ = true;
        if (counts_.processes == 1) packets_.start(start_of(header));
        const std::string rank = header.rank.empty() ? facts_.rank : header.rank;
        std::string name =
            ring_ ? fs::path(ring_->header.program).filename().string() : std::string("process");
        if (!rank.empty()) name += ", rank " + rank;
        packets_.add_process(trace_id(process.index, kProcess, 0), {process.pid, name, header.command});
    }

    [[nodiscard]] std::uint64_t start_of(const HeaderFacts& header) const {
        if (header.start_ns != 0) return header.start_ns;
        return ring_ ? ring_->header.start_unix_ns : 1;
    }

    void read_events(const HostProcess& process, HostCalls& calls) {
        RecordedFile file(files_->events.c_str());
        EventReader reader([&](char* to, std::size_t bytes) { return file.read(to, bytes); },
                           ArgumentDetail::facts, ReadingThread::own);
        ReadEvent event;
        while (failed_.ok() && reader.next(event)) {
            if (event.kind == ReadEvent::Kind::header) {
                describe(process, event.header);
                continue;
            }
            describe(process, {});
            if (event.kind == ReadEvent::Kind::call) {
                calls.add_call(event);
            } else if (event.kind == ReadEvent::Kind::model) {
                calls.add_model(event.model);
            } else if (event.type == "finding") {
                add_finding(event.line, calls);
            }
            if (out_.size() >= kPiece) flush();
        }
        if (file.error() != 0)
            message(Severity::warn, "cannot read all of %s: %s. The rest is left out.",
                    files_->events.c_str(), errno_text(file.error()).c_str());
        warn_of_gaps(files_->events.c_str(), reader.notes());
    }

    void add_finding(std::string_view line, HostCalls& calls) {
        const Result<Finding> finding = read_finding(line);
        if (!finding.ok()) return;
        calls.add_finding(finding.value());
        ++counts_.findings;
    }

    void read_timeline(const HostProcess& process) {
        RecordedFile file(files_->timeline.c_str());
        TimelineReader reader([&](char* to, std::size_t bytes) { return file.read(to, bytes); });
        DeviceSpans spans(packets_, process.index);
        ReadSpan span;
        while (failed_.ok() && reader.next(span)) {
            if (!spans.has_device(span.device))
                spans.add_device(span.device, device_label(span.device, reader));
            spans.add(span);
            ++counts_.spans;
            if (out_.size() >= kPiece) flush();
        }
        spans.finish();
        if (reader.damaged() + spans.left_out() != 0)
            message(Severity::warn, "%s: skipped %" PRIu64 " unreadable spans.", files_->timeline.c_str(),
                    reader.damaged() + spans.left_out());
        if (reader.lost() != 0)
            message(Severity::warn, "%s: the library lost %" PRIu64 " spans while it recorded.",
                    files_->timeline.c_str(), reader.lost());
    }

    /// Returns what is known of a device, and how its times were measured if that is less exact.
    [[nodiscard]] std::string device_label(std::uint32_t number, const TimelineReader& timeline) const {
        std::string label;
        for (const DeviceFacts& one : facts_.devices)
            if (one.number == number) label = one.name;
        if (const TimelineDevice* const device = timeline.device(number); device != nullptr) {
            if (label.empty()) label = device->name;
            if (const double peak = peak_bytes_per_second(*device); peak != 0) {
                char speed[32];
                std::snprintf(speed, sizeof speed, "%.0f GB/s", peak * 1e-9);
                label.append(label.empty() ? "" : ", ").append(speed);
            }
        }
        if (timeline.source() == "markers") label += label.empty() ? "marker times" : ", marker times";
        return label;
    }

    void flush() {
        if (failed_.ok()) failed_ = file_.write(out_);
        out_.clear();
    }

    NewFile& file_;
    TraceCounts& counts_;
    KeptOrigins origins_;
    std::string out_;
    TracePackets packets_{out_};
    Status failed_;
    // Of the current process.
    const ProcessFiles* files_ = nullptr;
    std::optional<ring::Contents> ring_;
    ProcessFacts facts_;
    bool is_described_ = false;
};

/// Returns "1 process, 40 calls, 12 device spans, 1 finding".
std::string counts_text(const TraceCounts& counts) {
    return std::to_string(counts.processes) + (counts.processes == 1 ? " process, " : " processes, ") +
           counted(counts.calls, "call") + ", " + counted(counts.spans, "device span") + ", " +
           counted(counts.findings, "finding");
}

}  // namespace

Status write_trace(const std::vector<ProcessFiles>& processes, const TorchTrace* logs, NewFile& file,
                   TraceCounts& counts) {
    Traced traced(logs, file, counts);
    for (const ProcessFiles& process : processes)
        if (Status added = traced.add(process); !added.ok()) return added;
    if (traced.is_foreign_trace())
        message(Severity::warn, "the --torch-trace logs have no compilation of these models.");
    return {};
}

int trace(const TraceRequest& request) {
    const Result<FoundProcesses> found = find_processes(request.place);
    if (!found.ok()) {
        error_message(ErrorCode::nothing_recorded, "%s.", found.status().message().c_str());
        return 1;
    }
    const std::optional<Result<TorchTrace>> logs =
        request.torch_trace.empty() ? std::nullopt : std::optional(TorchTrace::read(request.torch_trace));
    if (logs && !logs->ok()) return refuse_torch_trace(logs->status());
    const bool is_own = request.output.empty();
    NewFile file(is_own ? (fs::path(found.value().folder) / "trace.pftrace").string() : request.output,
                 is_own);
    TraceCounts counts;
    Status written = file.open();
    if (written.ok())
        written = write_trace(found.value().processes, logs ? &logs->value() : nullptr, file, counts);
    Result<std::string> path = written.ok() ? file.finish() : Result<std::string>(written);
    if (!path.ok()) {
        error_message(ErrorCode::output_not_written, "%s. %s", path.status().message().c_str(),
                      remedy_for(path.status(), "--output", PlaceKind::file).c_str());
        return 1;
    }
    if (counts.spans == 0)
        message(Severity::info,
                "the trace has no device times. If the program uses a GPU, record with --timeline "
                "(AOTI_DBG_TIMELINE=1) to get them.");
    return print(path.value() + ": " + counts_text(counts) + "\nOpen it at https://ui.perfetto.dev.\n");
}

}  // namespace aoti_dbg::cli

// See read_process.hpp.
#include "cli/page/read_process.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/clean_text.hpp"
#include "base/shell_text.hpp"
#include "base/words.hpp"
#include "cli/diff/index_events.hpp"
#include "cli/page/read_timeline.hpp"
#include "cli/recorded_file.hpp"
#include "serializer/crash_call.hpp"
#include "serializer/event_reader.hpp"
#include "serializer/flight_ring_reader.hpp"
#include "serializer/ring_clock.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kMostFindings = 200;

/// The text of a command has lost its quotes. Returns it if no shell would need them, else nothing.
std::string plain_program(const std::string& command) {
    std::vector<std::string> words(1);
    for (const char c : command)
        if (c == ' ')
            words.emplace_back();
        else
            words.back() += c;
    return shell_text(words) == command ? command : std::string();
}

bool is_call(ring::CallKind kind) {
    return kind != ring::CallKind::run && kind != ring::CallKind::lifecycle && kind != ring::CallKind::wait &&
           kind != ring::CallKind::unknown;
}

class ProcessReader {
  public:
    ProcessReader(const PageProcessFiles& files, Page& page)
        : files_(files),
          page_(page),
          index_(static_cast<std::uint32_t>(page.processes.size())),
          process_(page.processes.emplace_back()) {
        process_.pid = files.recorded.pid;
        process_.start_ns = files.recorded.start_unix_ns;
        process_.rank = files.recorded.facts.rank;
        process_.folder = files.recorded.folder;
        if (!files.events.empty()) process_.events = files.events.front();
        process_.runs = files.recorded.runs;
        process_.calls = files.recorded.calls;
        process_.program = shell_text(files.recorded.facts.command);
        process_.command = joined(files.recorded.facts.command, " ");
        if (process_.command.empty()) process_.command = files.recorded.program;
    }

    void read() {
        page_.rows.begin_process(index_);
        if (files_.recorded.is_running)
            process_.notes.emplace_back("the program was running when this page was made");
        if (!files_.timelines.empty()) page_.rows.keep_sequences();
        for (const std::string& path : files_.events) {
            RecordedFile file(path.c_str());
            read_events([&file](char* to, std::size_t bytes) { return file.read(to, bytes); }, path);
        }
        if (!has_calls_ && !files_.index.empty()) read_index();
        read_ring();
        if (files_.recorded.ring.empty()) count_from_rows();
        for (const std::size_t finding : expected_)
            if (page_.findings[finding].row == kNoIndex32) attach(page_.findings[finding]);
        for (const std::string& path : files_.timelines)
            read_timeline(path, page_.rows);
        page_.rows.finish_sequences();
    }

  private:
    void read_events(ByteSource source, const std::string& path) {
        EventReader reader(std::move(source), ArgumentDetail::everything, ReadingThread::own);
        ReadEvent event;
        while (reader.next(event)) {
            switch (event.kind) {
                case ReadEvent::Kind::call:
                    has_calls_ = true;
                    page_.rows.add(event.call);
                    keep_expected(event.call);
                    break;
                case ReadEvent::Kind::header:
                    take_header(event.header);
                    break;
                case ReadEvent::Kind::model:
                    take_model(event.model);
                    break;
                case ReadEvent::Kind::coverage:
                    process_.coverage = event.coverage;
                    break;
                default:
                    if (event.type == "finding") take_finding(event.line);
            }
        }
        note_gaps(path.substr(path.rfind('/') + 1), reader.notes());
    }

    /// A recording of level 1 has the statistics of its files in their index.
    void read_index() {
        IndexEvents events;
        events.read_index(files_.index.c_str());
        read_events([&events](char* to, std::size_t bytes) { return events.read(to, bytes); }, files_.index);
    }

    /// Without a ring, which may not have been copied, the rows say how much is recorded.
    void count_from_rows() {
        std::map<std::uint32_t, std::uint64_t> runs;  // by model
        for (const PageRow& row : page_.rows.rows) {
            if (row.process != index_) continue;
            if (row.side == EventSide::before) process_.calls += row.runs;
            std::uint64_t& most = runs[page_.rows.sites[row.site].model];
            most = std::max(most, row.runs);
        }
        for (const auto& [model, count] : runs)
            process_.runs += count;
    }

    void note_gaps(const std::string& name, const ReadNotes& notes) {
        const auto add = [&](const std::string& text) { process_.notes.push_back(name + ": " + text); };
        if (notes.damaged != 0)
            add(counted(notes.damaged, "damaged line") + ", the first is line " +
                std::to_string(notes.first_damaged));
        if (notes.is_cut) add("the last line is incomplete");
        if (notes.is_newer) add("a newer aoti-dbg wrote it, so some of it is missing here");
    }

    void take_header(const HeaderFacts& header) {
        if (header.pid == 0 && header.command.empty()) return;
        if (process_.pid == 0) process_.pid = static_cast<std::uint32_t>(header.pid);
        if (process_.start_ns == 0) process_.start_ns = header.start_ns;
        if (!header.command.empty()) process_.command = header.command;
        if (process_.program.empty()) process_.program = plain_program(header.command);
        process_.host = header.host;
        process_.library = header.library;
        if (!header.rank.empty()) process_.rank = header.rank;
    }

    void take_model(const ModelFacts& facts) {
        const std::uint32_t model = page_.rows.model_index(facts.number);
        if (model == kNoIndex32) return;
        page_.rows.models[model].name = facts.name;
        page_.rows.models[model].path = facts.path;
    }

    void take_finding(std::string_view line) {
        Result<Finding> read = read_finding(line);
        if (!read.ok()) return;
        ++page_.finding_count;
        Finding& finding = read.value();
        const auto key = std::tuple(finding.kind, finding.check, finding.model, finding.kernel, finding.line,
                                    finding.tensor.label);
        const auto [known, is_new] = findings_.try_emplace(key, page_.findings.size());
        if (!is_new) {
            if (known->second < page_.findings.size()) ++page_.findings[known->second].count;
            return;
        }
        if (page_.findings.size() == kMostFindings) {
            known->second = ~std::size_t{0};
            if (findings_.size() > 100 * kMostFindings) findings_.erase(known);
            return;
        }
        PageFinding& one = page_.findings.emplace_back();
        one.process = index_;
        one.model = page_.rows.model_index(finding.model);
        one.finding = std::move(finding);
        if (!attach(one)) expected_.push_back(page_.findings.size() - 1);
    }

    /// A check of arguments records its finding before the call itself, whose run the row then shows.
    void keep_expected(const MeasuredCall& call) {
        std::erase_if(expected_, [&](std::size_t index) {
            PageFinding& one = page_.findings[index];
            const Finding& finding = one.finding;
            if (finding.run != call.run || finding.model != call.model) return false;
            const std::uint32_t row = page_.rows.find(one.model, finding.call, finding.kernel);
            if (row == kNoIndex32 || page_.rows.rows[row].last_run != finding.run) return false;
            if (one.row == kNoIndex32)
                attach(one);
            else
                page_.rows.keep_run(row, finding.run);
            return true;
        });
    }

    /// Returns false if the row does not have the run of the finding yet.

    bool attach(PageFinding& one) {
        const Finding& finding = one.finding;
        one.row = page_.rows.find(one.model, finding.call, finding.kernel);
        if (one.row == kNoIndex32) return false;
        page_.rows.add_finding(one.row, finding.run);
        const std::uint32_t last = page_.rows.rows[one.row].last_run;
        return last == ~0U || last >= finding.run;
    }

    void read_ring() {
        if (files_.recorded.ring.empty()) return;
        const Result<ring::Contents> read = ring::read_flight_ring(files_.recorded.ring);
        if (!read.ok()) return;
        const ring::Contents& contents = read.value();
        if (process_.library.empty()) process_.library = contents.header.library;
        std::uint64_t overwritten = 0;
        for (const ring::Thread& thread : contents.threads) {
            overwritten += thread.overwritten();
            for (const ring::Record& record : thread.records)
                if (is_call(record.kind)) take_record(contents, thread, record);
        }
        if (has_calls_ || overwritten == 0) return;
        process_.notes.push_back("the flight recorder ring overwrote " + counted(overwritten, "older call") +
                                 ", so counts and times are those of the newest calls");
    }

    void take_record(const ring::Contents& contents, const ring::Thread& thread, const ring::Record& record) {
        const std::uint32_t model =
            page_.rows.model_index(record.model == ring::kNoModel ? ~0U : std::uint32_t{record.model});
        const std::string name(contents.name(record.name));
        const std::uint32_t call = record.call == ring::kNoCall ? kNoCallNumber : record.call;
        std::uint32_t row = kNoIndex32;
        if (has_calls_) {
            if (call == kNoCallNumber) return;
            const bool is_bad =
                is_open(record) || record.result != 0 || (record.flags & ring::kUnwoundByException) != 0;
            if (is_bad) row = page_.rows.find(model, call, name);
        } else {
            SiteFacts& site = sites_[{record.name, record.kind, thread.line_of(record)}];
            site.kernel = name;
            site.kind = word_of(record.kind);
            site.line = thread.line_of(record);
            row = page_.rows.add_recorded(model, {record.run, call, record.seq, host_ns(contents, record)},
                                          site);
        }
        if (row == kNoIndex32) return;
        std::uint8_t& flags = page_.rows.rows[row].flags;
        if (is_open(record) && !files_.recorded.is_running && !thread.ended) flags |= kDidNotEnd;
        if (record.result != 0 || (record.flags & ring::kUnwoundByException) != 0) flags |= kFailed;
    }

    static double host_ns(const ring::Contents& contents, const ring::Record& record) {
        if (record.end_ticks <= record.begin_ticks) return 0;
        return static_cast<double>(record.end_ticks - record.begin_ticks) *
               RingClock(contents.header).tick_ns();
    }

    using FindingKey =
        std::tuple<Finding::Kind, std::string, std::uint32_t, std::string, std::uint32_t, std::string>;

    const PageProcessFiles& files_;
    Page& page_;
    std::uint32_t index_;
    PageProcess& process_;
    bool has_calls_ = false;
    std::map<FindingKey, std::size_t> findings_;
    std::vector<std::size_t> expected_;  // findings whose calls have not been read
    std::map<std::tuple<std::uint32_t, ring::CallKind, std::uint32_t>, SiteFacts> sites_;  // of the ring
};

}  // namespace

void read_process(const PageProcessFiles& files, Page& page) {
    ProcessReader(files, page).read();
}

}  // namespace aoti_dbg::cli

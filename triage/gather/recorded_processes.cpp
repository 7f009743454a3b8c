// See recorded_processes.hpp. The search goes a few folders deep and follows no links, so it ends on any
// tree.
#include "triage/gather/recorded_processes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/descriptor.hpp"
#include "base/mapped_file.hpp"
#include "serializer/cuda_error.hpp"
#include "serializer/json_line.hpp"
#include "serializer/line_source.hpp"
#include "serializer/ring_clock.hpp"

namespace aoti_dbg {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 4;

void for_each_file(const std::string& folder, std::string_view begins, std::string_view ends,
                   const std::function<void(const fs::path&)>& take) {
    std::error_code failed;
    fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, failed);
    for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
        if (entry.depth() >= kDeepest) entry.disable_recursion_pending();
        std::error_code unreadable;
        const std::string name = entry->path().filename().string();
        const bool matches = name.rfind(begins, 0) == 0 && name.find(ends) != std::string::npos;
        if (matches && entry->is_regular_file(unreadable)) take(entry->path());
    }
}

/// The file of another process, whose ring had the same name, is ignored.
ProcessFacts facts_of(const std::string& ring, std::uint32_t pid) {
    const Result<MappedFile> file = MappedFile::open(process_path(ring));
    if (!file.ok()) return {};
    Result<ProcessFacts> read = read_process(file.value().text());
    return read.ok() && read.value().pid == pid ? std::move(read.value()) : ProcessFacts{};
}

/// A run fails because of one of its calls, so that call takes precedence if it is known.
void note_failed(const ring::Contents& contents, const ring::Record& record, RecordedProcess& process,
                 const ring::Record*& first) {
    process.has_failed_call = true;
    const auto order = [](const ring::Record& one) {
        return std::pair(one.kind == ring::CallKind::run, one.seq);
    };
    if (first != nullptr && order(*first) < order(record)) return;
    first = &record;
    CrashCall call;
    call.name = contents.name(record.name);
    call.run = record.run;
    call.call = record.call;
    call.unwound_by_exception = (record.flags & ring::kUnwoundByException) != 0;
    process.failed_call = failure_text(call);
}

RecordedProcess summed_up(const fs::path& path, const ring::Contents& contents) {
    RecordedProcess process;
    process.ring = path.string();
    process.folder = path.parent_path().string();
    process.program = contents.header.program;
    process.pid = contents.header.pid;
    process.start_unix_ns = contents.header.start_unix_ns;
    process.ended = contents.header.ended != 0;
    process.signal = static_cast<int>(contents.header.signal);
    process.signal_thread = contents.header.signal_thread;
    if (contents.header.has_signal_address != 0) process.address = contents.header.signal_address;
    process.runs = contents.header.runs;
    process.is_running = is_running(contents.header);
    process.facts = facts_of(process.ring, process.pid);
    std::uint64_t first_error = UINT64_MAX;  // in ticks
    std::uint64_t no_calls = process.runs;
    const ring::Record* first_failed = nullptr;
    for (const ring::Thread& thread : contents.threads) {
        for (const ring::Record& record : thread.records) {
            process.calls = std::max(process.calls, record.seq);
            no_calls +=
                record.kind == ring::CallKind::lifecycle || record.kind == ring::CallKind::wait ? 1 : 0;
            process.uses_cuda |= is_launch(record.kind) || record.stream != 0 ||
                                 contents.name(record.name).find("_cuda") != std::string_view::npos;
            if (ring::returns_cuda_error(record.kind) && ends_context(record.result)) {
                process.has_dead_context = true;
                first_error = std::min(first_error, record.end_ticks);
            }
            if (record.kind == ring::CallKind::wait) continue;
            if (has_failed(record)) note_failed(contents, record, process, first_failed);
            if (!is_open(record) || thread.ended) continue;
            process.has_open_calls = true;
            process.is_main_thread_inside |= thread.tid == process.pid;
        }
    }
    process.calls -= std::min(process.calls, no_calls);
    process.failed_unix_ns = process.signal != 0        ? contents.header.signal_unix_ns
                             : process.has_dead_context ? RingClock(contents.header).unix_ns(first_error)
                                                        : 0;
    return process;
}

// ---- events

std::uint64_t number_of(const JsonLine::Value& value, std::uint64_t otherwise) {
    const std::string_view text = value.text();
    std::uint64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() && !text.empty() ? number
                                                                                            : otherwise;
}

/// "float32 [2, 2], min -1, max 2, mean 0.375, 3 NaN"
std::string argument_text(const JsonLine::Value& argument) {
    if (argument.member("value")) return std::string(argument.member("value").text());
    std::string text(argument.member("dtype").text());
    if (const JsonLine::Value sizes = argument.member("sizes"); sizes.is(JsonLine::Kind::array)) {
        text += " [";
        for (JsonLine::Value size = sizes.first(); size; size = size.next())
            text.append(text.back() == '[' ? "" : ", ").append(size.text());
        text += ']';
    }
    for (const char* name : {"min", "max", "mean"}) {
        if (const JsonLine::Value value = argument.member(name))
            text.append(", ").append(name).append(" ").append(value.text());
    }
    constexpr std::tuple<const char*, const char*> kOdd[] = {
        {"nan", " NaN"}, {"pos_inf", " +Inf"}, {"neg_inf", " -Inf"}};
    for (const auto& [member, words] : kOdd) {
        if (const JsonLine::Value value = argument.member(member))
            text.append(", ").append(value.text()).append(words);
    }
    return text;
}

CrashArgument recorded_argument(const JsonLine::Value& argument) {
    CrashArgument recorded;
    recorded.label = argument.member("label").text();
    recorded.what = argument_text(argument);
    recorded.value = argument.member("value").text();
    recorded.dtype = argument.member("dtype").text();
    const JsonLine::Value sizes = argument.member("sizes");
    recorded.has_sizes = sizes.is(JsonLine::Kind::array);
    for (JsonLine::Value size = sizes.first(); recorded.has_sizes && size; size = size.next())
        recorded.sizes.emplace_back(size.text());
    return recorded;
}

/// Reads the lines of one file and parses only those that may matter.
class EventFile {
  public:
    EventFile(RecordedEvents& events, const std::optional<RequestedCall>& requested, std::uint32_t model)
        : events_(events), requested_(requested), model_(model) {}

    void read(const fs::path& path, std::uint64_t since_unix_ns) {
        const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
        if (file.number() < 0) return;
        LineSource lines([&file](char* to, std::size_t bytes) {
            for (;;) {
                const ssize_t got = ::read(file.number(), to, bytes);
                if (got >= 0) return static_cast<std::size_t>(got);
                if (errno != EINTR) return std::size_t{0};
            }
        });
        std::string_view line;
        if (!lines.next(line) || !json_.parse(line)) return;
        if (number_of(json_.root().member("start_ns"), 0) < since_unix_ns) return;
        pid_ = static_cast<std::uint32_t>(number_of(json_.root().member("pid"), 0));
        is_requested_process_ = requested_ && pid_ == requested_->pid;
        while (lines.next(line))
            if (!lines.is_too_long()) take(line);
    }

  private:
    void take(std::string_view line) {
        if (line.starts_with(R"({"event":"finding")")) return take_finding(line);
        if (!is_requested_process_) return;
        if (line.starts_with(R"({"event":"model")")) return take_model(line);
        if (!line.starts_with(R"({"event":"call","side":"before")")) return;
        const std::string mark = R"("seq":)" + std::to_string(requested_->sequence) + ",";
        if (line.find(mark) != std::string_view::npos) take_call(line);
    }
    void take_finding(std::string_view line) {
        Result<Finding> finding = read_finding(line);
        if (!finding.ok()) return;
        ++events_.finding_count;
        if (events_.findings.size() < kFindingsKept)
            events_.findings.push_back({std::move(finding.value()), pid_});
    }
    void take_model(std::string_view line) {
        if (!json_.parse(line) || number_of(json_.root().member("model"), UINT64_MAX) != model_) return;
        events_.model_name = json_.root().member("name").text();
        events_.model_path = json_.root().member("path").text();
    }
    void take_call(std::string_view line) {
        if (!json_.parse(line) || number_of(json_.root().member("seq"), 0) != requested_->sequence) return;
        events_.arguments.clear();
        for (JsonLine::Value argument = json_.root().member("arguments").first(); argument;
             argument = argument.next())
            events_.arguments.push_back(recorded_argument(argument));
    }

    RecordedEvents& events_;
    const std::optional<RequestedCall>& requested_;
    std::uint32_t model_;
    std::uint32_t pid_ = 0;
    bool is_requested_process_ = false;
    JsonLine json_;
};

}  // namespace

bool is_running(const ring::FileHeader& header) {
    if (header.ended != 0 || header.signal != 0) return false;
    const std::string_view program(header.program, strnlen(header.program, sizeof header.program));
    std::error_code failed;
    const fs::path running = fs::read_symlink("/proc/" + std::to_string(header.pid) + "/exe", failed);
    return !failed && running == program;
}

std::vector<RecordedProcess> recorded_processes(const std::string& folder, std::uint64_t since_unix_ns) {
    std::vector<RecordedProcess> processes;
    for_each_file(folder, "flight", ".ring", [&](const fs::path& path) {
        const Result<ring::Contents> contents = ring::read_flight_ring(path.string());
        if (contents.ok() && contents.value().header.start_unix_ns >= since_unix_ns)
            processes.push_back(summed_up(path, contents.value()));
    });
    std::sort(processes.begin(), processes.end(), [](const RecordedProcess& a, const RecordedProcess& b) {
        return std::tie(a.start_unix_ns, a.ring) < std::tie(b.start_unix_ns, b.ring);
    });
    // After a signal ended a process, another process may reuse its pid.
    for (auto process = processes.begin(); process != processes.end(); ++process) {
        const auto has_its_number = [process](const RecordedProcess& later) {
            return later.pid == process->pid;
        };
        process->is_replaced =
            process->signal == 0 && std::any_of(std::next(process), processes.end(), has_its_number);
    }
    return processes;
}

RecordedEvents recorded_events(const std::string& folder, std::uint64_t since_unix_ns,
                               const std::optional<RequestedCall>& requested, std::uint32_t model) {
    RecordedEvents events;
    for_each_file(folder, "events", ".jsonl", [&](const fs::path& path) {
        EventFile(events, requested, model).read(path, since_unix_ns);
    });
    const auto is_before = [](const RecordedFinding& a, const RecordedFinding& b) {
        return a.finding.time_ns < b.finding.time_ns;
    };
    std::stable_sort(events.findings.begin(), events.findings.end(), is_before);
    return events;
}

}  // namespace aoti_dbg

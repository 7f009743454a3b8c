// It reads the files several times a second, which costs little, and works on every file system. It must
// not write to the recording.
#include "cli/show/follow.hpp"

#include <time.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "base/words.hpp"
#include "cli/print.hpp"
#include "cli/show/followed_calls.hpp"
#include "cli/show/followed_events.hpp"
#include "triage/gather/recorded_processes.hpp"
#include "triage/judge/evidence.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr long kPollEveryNs = 100'000'000;
constexpr unsigned kPollsPerSearch = 3;  // for further processes
// Before the calls of the ring are shown instead of events. Those of the first run on a GPU take longest.
constexpr unsigned kPollsForFile = 5;
constexpr unsigned kPollsForCalls = 30;
constexpr unsigned kPollsAfterEnd = 5;  // a process may start another one when it exits

/// "flight-42.ring" has its events in "events-42.jsonl".
std::string events_beside(const std::string& ring) {
    const fs::path path(ring);
    std::string name = path.filename().string();
    if (name.rfind("flight", 0) != 0) return {};
    name = "events" + name.substr(6);
    if (const std::size_t end = name.find(".ring"); end != std::string::npos) name.replace(end, 5, ".jsonl");
    return (path.parent_path() / name).string();
}

/// One process, and how much of it was printed.
class FollowedProcess {
  public:
    FollowedProcess(RecordedProcess process, const FollowRequest& request)
        : process_(std::move(process)), request_(request), calls_(request.thread) {}

    [[nodiscard]] const RecordedProcess& process() const { return process_; }
    void update(const RecordedProcess& process) { process_ = process; }
    [[nodiscard]] bool is_over() const { return is_over_; }

    /// Appends what is new.
    void poll(std::string& out) {
        if (is_over_) return;
        ++polls_;
        const bool is_final = !process_.is_running;
        if (!events_) open_events();
        const bool has_new = events_ && events_->poll(is_final, out);
        const bool is_late = polls_ > (events_ ? kPollsForCalls : kPollsForFile) || is_final;
        const bool is_ring_shown = !request_.format && is_late && !(events_ && events_->has_calls());
        if (is_ring_shown)
            if (const Result<ring::Contents> read = ring::read_flight_ring(process_.ring); read.ok())
                calls_.poll(read.value(), is_final, out);
        is_over_ = is_final && !has_new;
    }

    [[nodiscard]] std::uint64_t shown() const { return calls_.shown() + (events_ ? events_->shown() : 0); }

    /// Prints on standard error how the process ended.
    void conclude() const {
        const std::string end = process_.is_replaced   ? "was replaced by another program"
                                : process_.ended       ? "ended normally"
                                : process_.signal != 0 ? "ended with " + signal_name(process_.signal)
                                                       : "ended abnormally, probably by a signal";
        message(Severity::info, "process %u %s; %s shown.", process_.pid, end.c_str(),
                counted(shown(), "event").c_str());
        if (calls_.lost() != 0)
            message(Severity::warn,
                    "process %u: the ring overwrote %s before the command could print them. Set "
                    "AOTI_DBG_RING to a larger number, or record with --level 2.",
                    process_.pid, counted(calls_.lost(), "call").c_str());
        if (events_ && events_->damaged() != 0)
            message(Severity::warn, "process %u: skipped %s of its events.jsonl.", process_.pid,
                    counted(events_->damaged(), "damaged line").c_str());
        if (request_.format && !events_)
            message(Severity::warn, "process %u has no events.jsonl. Run the program with --level 2.",
                    process_.pid);
    }

  private:
    void open_events() {
        const std::string path = events_beside(process_.ring);
        std::error_code failed;
        if (path.empty() || !fs::is_regular_file(path, failed)) return;
        auto events = std::make_unique<FollowedEvents>(
            path, request_.format.value_or(OutputFormat::compact),
            request_.thread ? std::optional<std::uint64_t>(*request_.thread) : std::nullopt, request_.trace);
        if (events->is_open()) events_ = std::move(events);
    }

    RecordedProcess process_;
    const FollowRequest& request_;
    FollowedCalls calls_;
    std::unique_ptr<FollowedEvents> events_;  // null: it has none, or none yet
    unsigned polls_ = 0;
    bool is_over_ = false;
};

/// Returns the output directory of the newest run in a place that may have several. Empty if it has none.
std::string newest_run_in(const std::string& place) {
    std::error_code failed;
    const fs::path latest = fs::path(place) / "latest";
    if (!fs::is_directory(latest, failed)) return {};
    return fs::canonical(latest, failed).string();
}

class Following {
  public:
    explicit Following(const FollowRequest& request) : request_(request) {}

    int run() {
        for (unsigned polls = 0; !is_over(); ++polls) {
            if (polls % kPollsPerSearch == 0) search();
            for (const auto& process : processes_)
                if (!poll(*process)) return output_.exit_code();
            if (!output_.flush()) return output_.exit_code();
            const timespec nap = {0, kPollEveryNs};
            nanosleep(&nap, nullptr);
        }
        for (const auto& process : processes_)
            process->conclude();
        return 0;
    }

  private:
    /// Finds new processes, and which of the known ones have ended.
    void search() {
        const std::vector<RecordedProcess> found = recorded_processes(folder(), 0);
        const bool is_any_running =
            std::any_of(found.begin(), found.end(), std::mem_fn(&RecordedProcess::is_running));
        // Of several runs, the newest may have ended long ago.
        if (is_first_ && !newest_.empty() && !found.empty() && !is_any_running) ended_ = newest_;
        is_first_ = false;
        if (ended_.empty() || newest_ != ended_)
            for (const RecordedProcess& process : found)
                take(process);
        if (!processes_.empty() || is_waiting_) return;
        is_waiting_ = true;
        if (ended_.empty())
            message(Severity::info, "waiting for a program to record into %s.", request_.place.c_str());
        else
            message(Severity::info,
                    "the newest run in %s has ended. Waiting for the next one. To print that run, give its "
                    "directory, %s.",
                    request_.place.c_str(), ended_.c_str());
    }

    /// Returns the directory of the run to follow, which stays the same once a process was found.
    const std::string& folder() {
        if (processes_.empty()) newest_ = newest_run_in(request_.place);
        // The link may be ahead of the directory.
        if (newest_.empty()) newest_ = ended_;
        return newest_.empty() ? request_.place : newest_;
    }

    void take(const RecordedProcess& process) {
        const auto known = std::find_if(processes_.begin(), processes_.end(), [&](const auto& one) {
            return one->process().ring == process.ring &&
                   one->process().start_unix_ns == process.start_unix_ns;
        });
        if (known == processes_.end())
            processes_.push_back(std::make_unique<FollowedProcess>(process, request_));
        else
            (*known)->update(process);
    }

    /// Prints what is new in a process. Returns false if the reader closed the pipe.
    bool poll(FollowedProcess& process) {
        text_.clear();
        process.poll(text_);
        if (processes_.size() == 1) {
            output_.text += text_;
            return output_.flush_if_large();
        }
        const std::string prefix = "[" + std::to_string(process.process().pid) + "] ";
        for (std::size_t begin = 0; begin < text_.size();) {
            const std::size_t end = std::min(text_.find('\n', begin), text_.size() - 1) + 1;
            output_.text.append(prefix).append(text_, begin, end - begin);
            begin = end;
        }
        return output_.flush_if_large();
    }

    /// True if all processes have ended some time ago.
    bool is_over() {
        const bool is_any_left =
            processes_.empty() || std::any_of(processes_.begin(), processes_.end(),
                                              [](const auto& one) { return !one->is_over(); });
        polls_after_end_ = is_any_left ? 0 : polls_after_end_ + 1;
        return polls_after_end_ > kPollsAfterEnd;
    }

    const FollowRequest& request_;
    std::string newest_;  // the newest of several runs; empty: the place is the output directory itself
    std::string ended_;   // a run that had ended before; empty: none
    bool is_first_ = true;
    std::vector<std::unique_ptr<FollowedProcess>> processes_;
    Output output_;
    std::string text_;
    bool is_waiting_ = false;
    unsigned polls_after_end_ = 0;
};

}  // namespace

int follow(const FollowRequest& request) {
    std::error_code failed;
    if (fs::exists(request.place, failed) && !fs::is_directory(request.place, failed)) {
        error_message(ErrorCode::nothing_recorded,
                      "cannot follow %s: it is not a directory. Pass the output directory (AOTI_DBG_OUT).",
                      request.place.c_str());
        return 1;
    }
    return Following(request).run();
}

}  // namespace aoti_dbg::cli

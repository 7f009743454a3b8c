#include "shim/observe/session.hpp"

#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <new>

#include "base/message.hpp"
#include "shim/observe/models.hpp"
#include "shim/observe/process.hpp"
#include "shim/observe/thread_state.hpp"
#include "shim/report/out_folder.hpp"

namespace aoti_dbg {

Session::Session(const Options& options) : pid_(getpid()) {
    if (options.levels.any()) {
        Result<std::unique_ptr<LineLog>> log = LineLog::open(options.log);
        if (!log.ok()) {
            message(Severity::warn,
                    "%s; lines go to standard error; set AOTI_DBG_LOG to a file that can be made",
                    log.status().message().c_str());
            log = LineLog::open("stderr");
        }
        if (log.ok()) log_ = std::move(log.value());
    }
    if (options.ring != 0) open_ring(options);
}

void Session::open_ring(const Options& options) {
    const Result<std::string> folder = make_out_folder(options);
    if (!folder.ok()) {
        message(Severity::warn,
                "%s; there is no flight ring; set AOTI_DBG_OUT to a folder that can be written",
                folder.status().message().c_str());
        return;
    }
    // Several processes, or runs one after the other, may share a folder.
    std::string path = folder.value() + "/flight.ring";
    if (access(path.c_str(), F_OK) == 0) {
        path = free_name(folder.value() + "/flight-" + std::to_string(pid_) + ".ring");
    }
    Result<std::unique_ptr<FlightRing>> ring = FlightRing::create(path, options.ring);
    if (ring.ok()) {
        ring_ = std::move(ring.value());
    } else {
        message(Severity::warn, "%s; there is no flight ring; set AOTI_DBG_OUT to a place with room",
                ring.status().message().c_str());
    }
}

ThreadState* Session::attach_thread() {
    ThreadState* state = nullptr;
    {
        const std::lock_guard lock(wiped_page().threads_mutex);
        if (!free_.empty()) {
            state = free_.back();
            free_.pop_back();
        }
    }
    if (state == nullptr) {
        state = new (std::nothrow) ThreadState;
        if (state == nullptr) return nullptr;
        const std::lock_guard lock(wiped_page().threads_mutex);
        threads_.push_back(state);
    }
    state->session = this;
    if (ring_) state->ring = ring_->add_thread();
    return state;
}

void Session::detach_thread(ThreadState* state) {
    if (ring_) ring_->retire_thread(state->ring);
    const std::lock_guard lock(wiped_page().threads_mutex);
    ended_counts_.add(state->counts);
    state->~ThreadState();
    free_.push_back(new (state) ThreadState);
}

void Session::publish_names(std::uint32_t id) {
    ring_->publish_names(id);
    std::uint32_t known = published_.load(std::memory_order_relaxed);
    while (known <= id && !published_.compare_exchange_weak(known, id + 1, std::memory_order_release)) {
    }
}

void Session::end() {
    if (log_) log_->close();
    if (ring_) ring_->note_end();
    say_coverage();
}

void Session::say_coverage() {
    Counts all;
    {
        const std::lock_guard lock(wiped_page().threads_mutex);
        all.add(ended_counts_);
        for (const ThreadState* state : threads_)
            all.add(state->counts);
    }
    // "1 model, 3 runs, 195 calls; printed 195" and then only what is not zero.
    std::string text;
    const auto count = [&text](std::uint64_t number, const char* one, const char* many) {
        text += std::to_string(number) + " " + (number == 1 ? one : many);
    };
    const auto rest = [&text, &count](std::uint64_t number, const char* one, const char* many) {
        if (number == 0) return;
        text += "; ";
        count(number, one, many);
    };
    const ModelCounts models = count_models();
    count(models.seen, "model", "models");
    text += ", ";
    count(all.runs.get(), "run", "runs");
    text += ", ";
    count(all.calls.get(), "call", "calls");
    rest(all.printed.get(), "printed", "printed");
    rest(all.filtered.get(), "left out by the filter", "left out by the filter");
    rest(all.children.get(), "outside of the scope", "outside of the scope");
    rest(all.failed.get(), "returned an error", "returned an error");
    rest(all.exceptions.get(), "left by an exception", "left by exceptions");
    rest(all.deep.get(), "nested too deep", "nested too deep");
    rest(all.unsafe.get() + models.unbound, "not seen (arguments unknown)", "not seen (arguments unknown)");
    if (log_) rest(log_->dropped(), "line lost", "lines lost");
    if (log_ && !log_->path().empty()) text += "; log: " + log_->path();
    if (ring_) text += "; ring: " + ring_->path();
    message(Severity::info, "%s", text.c_str());
    if (log_ && all.runs.get() + all.calls.get() == 0) {
        message(Severity::warn, "saw no model and no launch: nothing was checked");
    }
}

}  // namespace aoti_dbg

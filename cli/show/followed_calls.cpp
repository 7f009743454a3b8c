#include "cli/show/followed_calls.hpp"

#include <algorithm>

#include "base/clean_text.hpp"
#include "cli/show/call_words.hpp"

namespace aoti_dbg::cli {
namespace {

// A thread takes its number a moment before its record appears. More calls than these are lost for good.
constexpr std::size_t kMostMissing = 1024;
constexpr std::uint32_t kDeepestIndent = 16;

std::string right(const std::string& text, std::size_t width) {
    return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string left(std::string text, std::size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}

std::string row(const std::string& sequence, const std::string& thread, const std::string& run,
                const std::string& call, const std::string& kind, const std::string& name,
                const std::string& state) {
    return right(sequence, 7) + "  " + right(thread, 7) + "  " + right(run, 5) + "  " + right(call, 5) +
           "  " + left(kind, 10) + "  " + left(name, 40) + "  " + state + "\n";
}

std::string row_of(const ring::Contents& contents, const ring::Call& call, bool is_final) {
    const ring::Record& record = *call.record;
    const std::uint32_t indent = 2 * std::min<std::uint32_t>(record.depth, kDeepestIndent);
    return row(std::to_string(record.seq), std::to_string(call.thread->tid), unless(record.run, ring::kNoRun),
               unless(record.call, ring::kNoCall), word_for(record.kind),
               std::string(indent, ' ') + clean_text(contents.name(record.name)),
               is_open(record) && !is_final ? "running" : state_of(record));
}

}  // namespace

bool FollowedCalls::is_new(std::uint64_t sequence) {
    if (sequence <= last_) return missing_.erase(sequence) != 0;
    // Calls that the ring overwrote before the first poll do not count as lost.
    const std::uint64_t first = last_ == 0 ? sequence : last_ + 1;
    const std::uint64_t skipped = sequence - first;
    if (skipped > kMostMissing)
        lost_ += skipped;
    else
        for (std::uint64_t number = first; number < sequence; ++number)
            missing_.insert(number);
    for (; missing_.size() > kMostMissing; ++lost_)
        missing_.erase(missing_.begin());
    last_ = sequence;
    return true;
}

void FollowedCalls::poll(const ring::Contents& contents, bool is_final, std::string& out) {
    for (const ring::Call& call : ring::merged_calls(contents)) {
        const bool is_first = is_new(call.record->seq);
        const bool is_its = !thread_ || call.thread->tid == *thread_;
        const bool is_over = !is_open(*call.record);
        const bool was_open = open_.count(call.record->seq) != 0;
        if (!is_its || (!is_first && !was_open)) continue;
        if (is_first && shown_++ == 0) out += row("seq", "thread", "run", "call", "kind", "name", "state");
        // A call that was printed as running is only worth a second line if it failed or never returned.
        const bool is_bad = is_over ? call.record->result != 0 : is_final;
        if (is_first || (is_bad && was_open)) out += row_of(contents, call, is_final);
        if (is_over || is_final)
            open_.erase(call.record->seq);
        else
            open_.insert(call.record->seq);
    }
}

}  // namespace aoti_dbg::cli

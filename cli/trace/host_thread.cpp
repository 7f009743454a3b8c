#include "cli/trace/host_thread.hpp"

#include <algorithm>

namespace aoti_dbg::cli {

std::uint64_t HostThread::advance(std::uint64_t time_ns) {
    last_ns_ = std::max(last_ns_, time_ns);
    return last_ns_;
}

void HostThread::enter_records_before(std::uint64_t sequence, const Enter& enter) {
    while (next_record_ < records_.size() && records_[next_record_].record->seq < sequence)
        enter(records_[next_record_++]);
    if (next_record_ < records_.size() && records_[next_record_].record->seq == sequence) ++next_record_;
}

void HostThread::enter_records_inside(std::uint64_t sequence, std::uint32_t depth, std::uint64_t end_ns,
                                      const Enter& enter) {
    enter_records_before(sequence, enter);
    while (next_record_ < records_.size() && records_[next_record_].record->depth > depth &&
           records_[next_record_].begin_ns <= end_ns)
        enter(records_[next_record_++]);
}

void HostThread::enter_all_records(const Enter& enter) {
    while (next_record_ < records_.size())
        enter(records_[next_record_++]);
}

const TimedRecord* HostThread::record_of(std::uint64_t sequence) const {
    // A call is usually the next record, or one shortly before it.
    const auto found = std::lower_bound(
        records_.begin(), records_.end(), sequence,
        [](const TimedRecord& one, std::uint64_t number) { return one.record->seq < number; });
    return found == records_.end() || found->record->seq != sequence ? nullptr : &*found;
}

void HostThread::write_end(std::uint64_t time_ns, bool is_known) {
    packets_.begin_event(TracePackets::Type::end, track_, advance(time_ns));
    if (!is_known) packets_.annotate_shared("end", "not recorded");
    packets_.end_event();
}

void HostThread::close_innermost(std::uint64_t time_ns) {
    const OpenSlice slice = open_.back();
    open_.pop_back();
    const bool is_known = slice.end_ns != 0 || slice.is_run;
    const std::uint64_t end_ns = slice.end_ns != 0 ? std::min(slice.end_ns, time_ns) : time_ns;
    write_end(end_ns, is_known);
    if (slice.is_run) write_end(end_ns, true);
}

void HostThread::close_to(std::uint32_t depth, std::uint64_t time_ns) {
    while (!open_.empty() && open_.back().depth >= depth)
        close_innermost(time_ns);
}

void HostThread::close_above(std::size_t index, std::uint64_t time_ns) {
    while (open_.size() > index + 1)
        close_innermost(time_ns);
}

std::size_t HostThread::find(std::uint64_t sequence) const {
    for (std::size_t i = open_.size(); i > 0; --i)
        if (open_[i - 1].sequence == sequence) return i - 1;
    return open_.size();
}

std::size_t HostThread::find_run(std::uint32_t run) const {
    for (std::size_t i = open_.size(); i > 0; --i)
        if (open_[i - 1].is_run && open_[i - 1].run == run) return i - 1;
    return open_.size();
}

void HostThread::finish(bool has_ends) {
    while (!open_.empty()) {
        const OpenSlice& slice = open_.back();
        // The viewer shows a slice without an end as one that did not end.
        const bool did_not_end = slice.is_open || (slice.has_side && has_ends && slice.end_ns == 0);
        if (did_not_end) {
            open_.clear();
        } else {
            close_innermost(std::max(last_ns_, slice.end_ns));
        }
    }
}

}  // namespace aoti_dbg::cli

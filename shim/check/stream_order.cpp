#include "shim/check/stream_order.hpp"

#include <algorithm>
#include <iterator>

namespace aoti_dbg {

StreamOrder::Stream StreamOrder::add_stream(Kind kind, std::uint64_t context) {
    const auto number = static_cast<Stream>(streams_.size());
    streams_.emplace_back().clock.resize(number + 1);
    make_anew(number, kind, context);
    return number;
}

void StreamOrder::make_anew(Stream stream, Kind kind, std::uint64_t context) {
    streams_[stream].kind = kind;
    streams_[stream].context = context;
}

void StreamOrder::join(Clock& clock, const Clock& other) {
    if (clock.size() < other.size()) clock.resize(other.size());
    for (std::size_t i = 0; i < other.size(); ++i)
        clock[i] = std::max(clock[i], other[i]);
}

void StreamOrder::join_all(Clock& clock) const {
    for (const StreamState& each : streams_)
        join(clock, each.clock);
}

void StreamOrder::begin(Stream stream) {
    StreamState& own = streams_[stream];
    if (own.host_seen != host_changes_) {
        join(own.clock, host_);
        own.host_seen = host_changes_;
    }
    if (own.kind != Kind::free) {
        const Kind ordered_with = own.kind == Kind::legacy ? Kind::blocking : Kind::legacy;
        for (const StreamState& each : streams_) {
            if (each.kind == ordered_with && each.context == own.context) join(own.clock, each.clock);
        }
    }
    ++own.clock[stream];
}

void StreamOrder::record(Event event, Stream stream) {
    begin(stream);
    if (events_.size() >= kMostEvents) events_.clear();
    events_[event] = streams_[stream].clock;
}

void StreamOrder::wait_for(Stream stream, Event event) {
    const auto known = events_.find(event);
    if (known == events_.end()) return wait_for_all(stream);
    begin(stream);
    join(streams_[stream].clock, known->second);
}

void StreamOrder::wait_for_all(Stream stream) {
    begin(stream);
    join_all(streams_[stream].clock);
}

void StreamOrder::host_waited(Event event) {
    const auto known = events_.find(event);
    if (known == events_.end()) return host_waited_for_all();
    join(host_, known->second);
    ++host_changes_;
}

void StreamOrder::host_waited_for(Stream stream) {
    begin(stream);
    join(host_, streams_[stream].clock);
    ++host_changes_;
}

void StreamOrder::host_waited_for_all() {
    join_all(host_);
    ++host_changes_;
}

bool StreamOrder::is_behind(Stream stream, const Access& access) const {
    const Clock& clock = streams_[stream].clock;
    return access.stream < clock.size() && access.time <= clock[access.stream];
}

void StreamOrder::split_at(std::uint64_t address) {
    const auto behind = parts_.lower_bound(address);
    if (behind == parts_.begin()) return;
    const auto part = std::prev(behind);
    if (part->second.end <= address) return;
    parts_.emplace_hint(behind, address, part->second);
    part->second.end = address;
}

void StreamOrder::note_read(Part& part, const Access& read) const {
    // An earlier read is redundant if this read is ordered after it. A call's read is kept over a program's,
    // because a race between two program accesses is not reported.
    const auto is_covered = [&](const Access& before) {
        return is_behind(read.stream, before) && (read.who.is_call() || !before.who.is_call()) &&
               (read.use == Use::may_write || before.use != Use::may_write);
    };
    part.reads.erase(std::remove_if(part.reads.begin(), part.reads.end(), is_covered), part.reads.end());
    part.reads.push_back(read);
}

const StreamOrder::Access& StreamOrder::last_writer(const Part& part) const {
    const auto over_it = std::find_if(part.reads.rbegin(), part.reads.rend(), [&part](const Access& each) {
        return each.use == Use::may_write && each.stream == part.write->stream;
    });
    return over_it == part.reads.rend() ? *part.write : *over_it;
}

std::optional<StreamOrder::Conflict> StreamOrder::touch(Stream stream, const Touch& touch,
                                                        const Toucher& who) {
    const std::uint64_t end = touch.address + touch.bytes;
    if (touch.bytes == 0 || end < touch.address) return std::nullopt;
    if (parts_.size() >= kMostParts) parts_.clear();
    split_at(touch.address);
    split_at(end);

    std::optional<Conflict> conflict;
    const auto compare = [&](const Access& before) {
        const bool is_settled = conflict && (conflict->earlier.is_call() || !before.who.is_call());
        if (!is_settled && !is_behind(stream, before)) conflict = Conflict{before.who, before.use};
    };
    const bool writes = touch.use == Use::writes;
    const Access access{stream, streams_[stream].clock[stream], touch.use, who};
    std::uint64_t at = touch.address;
    auto part = parts_.lower_bound(at);
    for (; part != parts_.end() && part->first < end; at = part->second.end, ++part) {
        if (part->second.write && !is_behind(stream, *part->second.write)) compare(last_writer(part->second));
        if (writes) {
            for (const Access& read : part->second.reads)
                compare(read);
            continue;
        }
        if (at < part->first) parts_.emplace_hint(part, at, Part{part->first, std::nullopt, {access}});
        note_read(part->second, access);
    }
    if (writes) {
        parts_.erase(parts_.lower_bound(touch.address), part);
        parts_.emplace_hint(part, touch.address, Part{end, access, {}});
    } else if (at < end) {
        parts_.emplace_hint(part, at, Part{end, std::nullopt, {access}});
    }
    return conflict;
}

void StreamOrder::forget_memory(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t end = address + bytes;
    if (bytes == 0 || end < address) return;
    split_at(address);
    split_at(end);
    parts_.erase(parts_.lower_bound(address), parts_.lower_bound(end));
}

}  // namespace aoti_dbg

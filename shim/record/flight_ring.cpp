#include "shim/record/flight_ring.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/names.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kNamesPayload = std::size_t{64} * 1024 - sizeof(ring::BlockHeader);

// This many rings of ended threads are kept for the reader.
constexpr std::size_t kEndedRingsKept = 8;

}  // namespace

ring::Record* ThreadRing::begin(const ring::Record& record) {
    ring::Record& place = next();
    memcpy(reinterpret_cast<char*>(&place) + sizeof place.seq,
           reinterpret_cast<const char*>(&record) + sizeof record.seq, sizeof record - sizeof record.seq);
    publish_next(place, record.seq);
    return &place;
}

Result<std::unique_ptr<FlightRing>> FlightRing::create(const std::string& path, std::uint32_t records) {
    char* page = nullptr;
    Result<PreallocatedFile> made = PreallocatedFile::create(path, ring::kPage, page);
    if (!made.ok()) return made.status();
    auto* header = reinterpret_cast<ring::FileHeader*>(page);
    header->version = ring::kVersion;
    header->record_bytes = sizeof(ring::Record);
    header->pid = static_cast<std::uint32_t>(getpid());
    header->start_unix_ns = header->anchor_unix_ns = unix_nanoseconds();
    header->start_ticks = header->anchor_ticks = ticks();
    const ssize_t length = readlink("/proc/self/exe", header->program, sizeof header->program - 1);
    header->program[std::max<ssize_t>(length, 0)] = '\0';
    strncpy(header->library, AOTI_DBG_VERSION, sizeof header->library - 1);
    publish(header->magic, ring::kMagic);
    return std::unique_ptr<FlightRing>(new FlightRing(std::move(made.value()), header, records));
}

void FlightRing::give_up(const Status& status) {
    if (!full_) {
        message(Severity::warn, "%s. The flight recorder ring does not record calls of new threads. %s",
                status.message().c_str(), remedy_for(status, "AOTI_DBG_OUT", PlaceKind::directory).c_str());
    }
    full_ = true;
}

ring::BlockHeader* FlightRing::add_block(ring::BlockKind kind, std::size_t payload) {
    const std::size_t bytes = whole_pages(sizeof(ring::BlockHeader) + payload);
    Result<char*> mapped = file_.extend(bytes);
    if (!mapped.ok()) {
        give_up(mapped.status());
        return nullptr;
    }
    auto* block = reinterpret_cast<ring::BlockHeader*>(mapped.value());
    block->bytes = bytes;
    publish(block->kind, kind);
    return block;
}

ThreadRing FlightRing::add_thread() {
    const std::lock_guard lock(mutex_);
    const auto tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
    if (ended_.size() > kEndedRingsKept || (full_ && !ended_.empty())) {
        ring::BlockHeader* block = ended_.front().header();
        ended_.pop_front();
        auto* records = reinterpret_cast<ring::Record*>(block + 1);
        for (std::uint32_t i = 0; i < block->capacity; ++i)
            publish(records[i].seq, std::uint64_t{0});
        publish(block->written, std::uint64_t{0});
        block->tid = tid;
        publish(block->ended, std::uint32_t{0});
        return {block, records};
    }
    if (full_) return {};
    // A reader that sees the block before its capacity is set finds no records in it.
    ring::BlockHeader* block = add_block(
        ring::BlockKind::thread, std::size_t{records_} * (sizeof(ring::Record) + sizeof(std::uint32_t)));
    if (block == nullptr) return {};
    block->tid = tid;
    publish(block->capacity, records_);
    return {block, reinterpret_cast<ring::Record*>(block + 1)};
}

void FlightRing::retire_thread(ThreadRing ring) {
    if (!ring) return;
    const std::lock_guard lock(mutex_);
    publish(ring.header()->ended, std::uint32_t{1});
    ended_.push_back(ring);
}

void FlightRing::publish_names(std::uint32_t id) {
    const std::lock_guard lock(mutex_);
    while (names_published_ <= id) {
        const Name* name = name_by_id(names_published_);
        if (name == nullptr) return;
        const auto length =
            static_cast<std::uint16_t>(std::min(name->printed.size(), kNamesPayload - sizeof(std::uint16_t)));
        if (names_ == nullptr || names_->used + sizeof length + length > kNamesPayload) {
            ring::BlockHeader* block = full_ ? nullptr : add_block(ring::BlockKind::names, kNamesPayload);
            if (block == nullptr) return;
            block->first_id = names_published_;
            names_ = block;
        }
        char* entry = reinterpret_cast<char*>(names_ + 1) + names_->used;
        memcpy(entry, &length, sizeof length);
        memcpy(entry + sizeof length, name->printed.data(), length);
        publish(names_->used, names_->used + sizeof length + length);
        publish(names_->count, names_->count + 1);
        ++names_published_;
    }
}

ring::MarkersHeader* FlightRing::add_markers(std::uint32_t first, std::uint32_t streams) {
    const std::lock_guard lock(mutex_);
    if (full_) return nullptr;
    ring::BlockHeader* const block =
        add_block(ring::BlockKind::markers,
                  sizeof(ring::MarkersHeader) + std::size_t{streams} * sizeof(ring::MarkedStream));
    if (block == nullptr) return nullptr;
    block->first_id = first;
    publish(block->capacity, streams);
    return reinterpret_cast<ring::MarkersHeader*>(block + 1);
}

void FlightRing::note_context(std::uint8_t number, const ring::DeviceContext& context) {
    if (number == 0 || number > ring::kMostContexts) return;
    ring::DeviceContext& to = header_->contexts[number - 1];
    publish(to.device, context.device);
    publish(to.handle, context.handle);
}

void FlightRing::note_run_begun() {
    __atomic_fetch_add(&header_->runs, 1, __ATOMIC_RELAXED);
    note_moment();
}

void FlightRing::note_moment() {
    publish(header_->anchor_unix_ns, unix_nanoseconds());
    publish(header_->anchor_ticks, ticks());
}

void FlightRing::note_end() {
    note_moment();
    publish(header_->ended, std::uint32_t{1});
}

void FlightRing::note_signal(int signal, std::uint32_t thread, std::optional<std::uint64_t> address) {
    std::uint32_t none = 0;
    if (!__atomic_compare_exchange_n(&header_->signal_thread, &none, thread, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return;
    publish(header_->signal_unix_ns, unix_nanoseconds());
    if (address) {
        publish(header_->signal_address, *address);
        publish(header_->has_signal_address, std::uint64_t{1});
    }
    publish(header_->signal, static_cast<std::uint32_t>(signal));
}

}  // namespace aoti_dbg

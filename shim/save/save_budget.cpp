#include "shim/save/save_budget.hpp"

#include <algorithm>

namespace aoti_dbg {
namespace {

// A look costs less than a microsecond and happens at most once per file.
constexpr std::uint64_t kLookAgainNs = 200'000'000;

/// Returns the part of `available` above the last tenth. A file system that does not report its size counts
/// as unlimited.
std::uint64_t above_last_tenth(std::uint64_t all, std::uint64_t available) {
    if (all == 0) return UINT64_MAX;
    const std::uint64_t tenth = all / 10;
    return available > tenth ? available - tenth : 0;
}

}  // namespace

SaveBudget::Answer SaveBudget::ask(std::uint64_t bytes, std::uint64_t others) {
    if (files_ >= most_files_) return Answer::too_many_files;
    const std::uint64_t used = bytes_ + others;
    if (used > most_bytes_ || bytes > most_bytes_ - used) return Answer::too_many_bytes;
    if (bytes > room_ || room_files_ == 0) return Answer::disk_full;
    bytes_ += bytes;
    files_ += 1;
    granted_ += bytes;
    unwritten_ += bytes;
    if (room_ != UINT64_MAX) room_ -= bytes;
    if (room_files_ != UINT64_MAX) --room_files_;
    return Answer::granted;
}

void SaveBudget::give_back_bytes(std::uint64_t bytes, std::uint64_t written) {
    note_written(bytes - std::min(written, bytes));
    bytes_ -= std::min(bytes, bytes_);
    has_looked_ = false;  // the next look() counts the freed space
}

void SaveBudget::give_back(std::uint64_t bytes, std::uint64_t written) {
    give_back_bytes(bytes, written);
    files_ -= std::min<std::uint64_t>(1, files_);
}

void SaveBudget::note_removed(std::uint64_t bytes) {
    give_back(bytes, bytes);
}

bool SaveBudget::wants_look(std::uint64_t now_ns) const {
    return !has_looked_ || now_ns - inspected_ns_ >= kLookAgainNs || granted_ >= room_ / 8;
}

void SaveBudget::look(const struct statvfs& disk, std::uint64_t now_ns) {
    const std::uint64_t block = disk.f_frsize;
    const std::uint64_t blocks = above_last_tenth(disk.f_blocks, disk.f_bavail);
    const bool is_beyond = blocks == UINT64_MAX || (block != 0 && blocks > UINT64_MAX / block);
    room_ = is_beyond ? UINT64_MAX : blocks * block;
    if (room_ != UINT64_MAX) room_ -= std::min(room_, unwritten_);
    room_files_ = above_last_tenth(disk.f_files, disk.f_favail);
    granted_ = 0;
    inspected_ns_ = now_ns;
    has_looked_ = true;
}

}  // namespace aoti_dbg

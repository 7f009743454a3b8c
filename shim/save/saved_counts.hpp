// Counts what happened to the tensors that were selected for saving. Counts only and decides nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "shim/save/kept_runs.hpp"

namespace aoti_dbg {

/// Why a selected tensor was not saved.
enum class LeftOut : std::uint8_t {
    no_room,
    too_large,
    unknown,
    no_device,
    failed,
    incomplete,
    run_went,  // also counted in SavedCounts::removed
    stopped,
    abandoned,
    late,
    queue_full
};
inline constexpr std::array<std::string_view, 11> kLeftOutWords = {
    "no_room",  "too_large", "unknown",   "no_device", "failed",    "incomplete",
    "run_went", "stopped",   "abandoned", "late",      "queue_full"};

/// The same reasons as text for people.
inline constexpr std::array<const char*, kLeftOutWords.size()> kLeftOutTexts = {
    "no room",
    "too large",
    "unknown layout or dtype",
    "not readable from the device",
    "failed",
    "incomplete",
    "run removed",
    "after saving stopped",
    "abandoned",
    "too late",
    "queue full"};

struct SavedCounts {
    using Count = std::atomic<std::uint64_t>;

    // Totals of the whole process.
    Count files{0};   // including links
    Count linked{0};  // or listed in the index as equal to another file
    Count bytes{0};   // written
    Count linked_bytes{0};
    std::array<Count, kLeftOutWords.size()> left_out{};

    // The part of the totals that was removed with its run.
    Count evicted{0};  // files
    Count evicted_linked{0};
    Count evicted_linked_bytes{0};

    /// Counts tensors of removed runs by reason. Includes removed files and tensors that were never written.
    std::array<Count, kWhyEvictedKeys.size()> removed{};

    // What is on disk now. The removed count is read first, so it never exceeds the total.
    [[nodiscard]] std::uint64_t files_on_disk() const { return difference(evicted, files); }
    [[nodiscard]] std::uint64_t linked_on_disk() const { return difference(evicted_linked, linked); }
    [[nodiscard]] std::uint64_t linked_bytes_on_disk() const {
        return difference(evicted_linked_bytes, linked_bytes);
    }

    /// Counts left-out tensors, except those of removed runs.
    [[nodiscard]] std::uint64_t all_left_out() const {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < left_out.size(); ++i) {
            if (static_cast<LeftOut>(i) != LeftOut::run_went)
                sum += left_out[i].load(std::memory_order_relaxed);
        }
        return sum;
    }
    [[nodiscard]] std::uint64_t all_removed() const {
        std::uint64_t sum = 0;
        for (const Count& count : removed)
            sum += count.load(std::memory_order_relaxed);
        return sum;
    }

  private:
    static std::uint64_t difference(const Count& less, const Count& all) {
        const std::uint64_t gone = less.load(std::memory_order_acquire);
        return all.load(std::memory_order_relaxed) - gone;
    }
};

}  // namespace aoti_dbg

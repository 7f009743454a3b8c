// What became of the tensors that were to be saved, as numbers. Counts only; decides nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "shim/save/kept_runs.hpp"

namespace aoti_dbg {

/// Why a tensor that was to be saved was not.
enum class LeftOut : std::uint8_t {
    no_room,
    too_large,
    unknown,
    no_device,
    failed,
    incomplete,
    run_went,  // counted in SavedCounts::removed as well
    stopped,
    abandoned,
    late,
    queue_full
};
inline constexpr std::array<std::string_view, 11> kLeftOutWords = {
    "no_room",  "too_large", "unknown",   "no_device", "failed",    "incomplete",
    "run_went", "stopped",   "abandoned", "late",      "queue_full"};

/// For people.
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

    // Over the whole process.
    Count files{0};   // links among them
    Count linked{0};  // or named the same in the index
    Count bytes{0};   // written
    Count linked_bytes{0};
    std::array<Count, kLeftOutWords.size()> left_out{};

    // Of these, what went with its run.
    Count evicted{0};  // files
    Count evicted_linked{0};
    Count evicted_bytes{0};
    Count evicted_linked_bytes{0};

    /// Tensors of runs that went, by why: those whose files were removed, and those that were not written.
    std::array<Count, kWhyEvictedKeys.size()> removed{};

    // What is on disk now. What went is read first: it is never more than what came.
    [[nodiscard]] std::uint64_t files_on_disk() const { return difference(evicted, files); }
    [[nodiscard]] std::uint64_t linked_on_disk() const { return difference(evicted_linked, linked); }
    [[nodiscard]] std::uint64_t linked_bytes_on_disk() const {
        return difference(evicted_linked_bytes, linked_bytes);
    }

    /// Tensors that were left out, but for those of runs that went.
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

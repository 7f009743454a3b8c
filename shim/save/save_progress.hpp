// The progress of saving and its text. Numbers and text only. Functions that build text allocate nothing,
// because some of it is printed at process exit, perhaps in a signal handler.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace aoti_dbg {

struct SaveProgress {
    std::uint64_t files = 0;  // on disk, including links
    std::uint64_t linked = 0;
    std::uint64_t removed = 0;        // tensors removed with their runs
    std::uint64_t bytes = 0;          // written
    std::uint64_t bytes_removed = 0;  // part of `bytes`
    std::uint64_t jobs_left = 0;      // tensors that were handed over completely
    std::uint64_t bytes_left = 0;
    std::uint64_t bytes_handled = 0;  // written, linked or left out
    std::uint64_t left_out = 0;       // tensors left out for any other reason
};

/// Measures the rate of the last few seconds.
class SavingPace {
  public:
    void note(const SaveProgress& progress, std::uint64_t nanoseconds);
    void forget() { noted_ = 0; }

    /// Returns 0 if the rate is unknown.
    [[nodiscard]] double written_per_second() const;
    /// Returns the remaining time, at least 1. Returns 0 if it is unknown or nothing is left.
    [[nodiscard]] std::uint64_t seconds_left() const;

  private:
    struct Moment {
        SaveProgress progress;
        std::uint64_t nanoseconds = 0;
    };
    [[nodiscard]] const Moment& last() const { return moments_[(noted_ - 1) % moments_.size()]; }
    [[nodiscard]] const Moment& first() const {
        return moments_[noted_ <= moments_.size() ? 0 : noted_ % moments_.size()];
    }
    [[nodiscard]] double seconds() const;

    std::array<Moment, 10> moments_;
    std::size_t noted_ = 0;
};

/// A short line in a buffer of its own. Text that does not fit is cut.
class ProgressText {
  public:
    ProgressText& add(std::string_view text);
    ProgressText& add_number(std::uint64_t number);  // 1,204
    ProgressText& add_bytes(std::uint64_t bytes);    // 3.2 GB
    ProgressText& add_tensors(std::uint64_t number);
    ProgressText& add_seconds(std::uint64_t seconds);  // about 3 s, nothing for 0
    [[nodiscard]] std::string_view text() const { return {text_.data(), length_}; }
    [[nodiscard]] const char* c_str() const { return text_.data(); }

  private:
    std::array<char, 256> text_{};
    std::size_t length_ = 0;
};

/// Appends "1,204 tensors saved (880 linked), 3.2 GB, 1.7 GB/s".
ProgressText& add_saved(ProgressText& text, const SaveProgress& progress, const SavingPace& pace);
/// Appends "312 tensors, 4.1 GB to go, about 3 s".
ProgressText& add_left(ProgressText& text, const SaveProgress& progress, const SavingPace& pace);

}  // namespace aoti_dbg

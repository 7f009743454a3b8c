// How far saving is, and how that is said: numbers and text only. Whatever makes text allocates nothing,
// since some of it is said on the way out of the process, perhaps by a signal handler.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace aoti_dbg {

struct SaveProgress {
    std::uint64_t files = 0;  // on disk, links among them
    std::uint64_t linked = 0;
    std::uint64_t removed = 0;        // tensors that went with their runs
    std::uint64_t bytes = 0;          // written
    std::uint64_t bytes_removed = 0;  // of these
    std::uint64_t jobs_left = 0;      // tensors of which all was handed over
    std::uint64_t bytes_left = 0;
    std::uint64_t bytes_handled = 0;  // written, linked or left out
    std::uint64_t left_out = 0;       // tensors, for any other reason
};

/// How fast it goes, over the last few seconds.
class SavingPace {
  public:
    void note(const SaveProgress& progress, std::uint64_t nanoseconds);
    void forget() { noted_ = 0; }

    /// 0: not known.
    [[nodiscard]] double written_per_second() const;
    /// Until nothing is left, at least one; 0: not known.
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

/// A short line in memory of its own; what does not fit is cut.
class ProgressText {
  public:
    ProgressText& add(std::string_view text);
    ProgressText& add_number(std::uint64_t number);  // 1,204
    ProgressText& add_bytes(std::uint64_t bytes);    // 3.2 GB
    ProgressText& add_tensors(std::uint64_t number);
    ProgressText& add_seconds(std::uint64_t seconds);  // about 3 s; of 0 nothing
    [[nodiscard]] std::string_view text() const { return {text_.data(), length_}; }
    [[nodiscard]] const char* c_str() const { return text_.data(); }

  private:
    std::array<char, 256> text_{};
    std::size_t length_ = 0;
};

/// "1,204 tensors saved (880 linked), 3.2 GB, 1.7 GB/s"
ProgressText& add_saved(ProgressText& text, const SaveProgress& progress, const SavingPace& pace);
/// "312 tensors, 4.1 GB to go, about 3 s"
ProgressText& add_left(ProgressText& text, const SaveProgress& progress, const SavingPace& pace);

}  // namespace aoti_dbg

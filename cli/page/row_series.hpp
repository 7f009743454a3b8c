// What a row keeps of many runs, in bounded memory: some of its times, and its statistics in some runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace aoti_dbg::cli {

/// A uniform sample of many times. Reading a file again gives the same sample.
class Samples {
  public:
    void add(double value) {
        ++seen_;
        if (seen_ <= kept_.size()) {
            kept_[seen_ - 1] = static_cast<float>(value);
            return;
        }
        random_ = random_ * 1664525U + 1013904223U;
        const std::uint64_t place = (std::uint64_t{random_} * seen_) >> 32U;
        if (place < kept_.size()) kept_[place] = static_cast<float>(value);
    }
    [[nodiscard]] std::uint32_t count() const { return seen_; }
    /// Returns 0 if there is none.
    [[nodiscard]] double median() const;

  private:
    std::array<float, 9> kept_{};
    std::uint32_t seen_ = 0;
    std::uint32_t random_ = 1;
};

/// The statistics of one tensor in one run.
struct SeriesPoint {
    double mean = 0, deviation = 0, minimum = 0, maximum = 0;
    std::uint64_t nan = 0;
    bool has_moments = false;
};

/// Keeps evenly spaced runs. When it is full, it drops every second one.
class RowSeries {
  public:
    static constexpr std::size_t kMostTensors = 3;

    /// Returns true if the run at this place in the order belongs to the series, after making room for it.
    bool wants(std::size_t most) {
        const bool is_member = next_++ % stride_ == 0;
        if (!is_member) return false;
        if (runs_.size() < most) return true;
        thin();
        return (next_ - 1) % stride_ == 0;
    }
    void add(std::uint32_t run, const std::vector<SeriesPoint>& points);

    [[nodiscard]] const std::vector<std::uint32_t>& runs() const { return runs_; }
    /// Those of a run are together.
    [[nodiscard]] const std::vector<SeriesPoint>& points() const { return points_; }
    [[nodiscard]] std::size_t tensors() const { return tensors_; }

  private:
    void thin();

    std::vector<std::uint32_t> runs_;
    std::vector<SeriesPoint> points_;
    std::size_t tensors_ = 0;
    std::uint64_t next_ = 0;
    std::uint64_t stride_ = 1;
};

}  // namespace aoti_dbg::cli

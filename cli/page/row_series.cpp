// See row_series.hpp.
#include "cli/page/row_series.hpp"

#include <algorithm>

namespace aoti_dbg::cli {

double Samples::median() const {
    if (seen_ == 0) return 0;
    std::array<float, std::tuple_size_v<decltype(kept_)>> sorted = kept_;
    const std::size_t count = std::min<std::size_t>(seen_, sorted.size());
    std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count));
    return sorted[(count - 1) / 2];
}

void RowSeries::thin() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < runs_.size(); i += 2, ++kept) {
        runs_[kept] = runs_[i];
        for (std::size_t tensor = 0; tensor < tensors_; ++tensor)
            points_[kept * tensors_ + tensor] = points_[i * tensors_ + tensor];
    }
    runs_.resize(kept);
    points_.resize(kept * tensors_);
    stride_ *= 2;
}

void RowSeries::add(std::uint32_t run, const std::vector<SeriesPoint>& points) {
    if (runs_.empty()) tensors_ = std::min(points.size(), kMostTensors);
    runs_.push_back(run);
    for (std::size_t i = 0; i < tensors_; ++i)
        points_.push_back(i < points.size() ? points[i] : SeriesPoint{});
}

}  // namespace aoti_dbg::cli

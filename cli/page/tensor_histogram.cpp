// See tensor_histogram.hpp.
#include "cli/page/tensor_histogram.hpp"

#include "cli/recording_files.hpp"
#include "cli/tensor_numbers.hpp"

namespace aoti_dbg::cli {

std::optional<FileNumbers> numbers_in(const std::string& path) {
    constexpr std::size_t kBins = 24;
    std::optional<FileNumbers> found;
    FolderFiles files;
    const Result<FileContents> contents = files.open(path);
    if (!contents.ok()) return found;
    const Result<PtView> tensor = read_pt(contents.value().bytes, PtCheck::all_but_checksums);
    // An expanded tensor has a small file and many elements.
    constexpr std::uint64_t kMostElements = std::uint64_t{64} << 20U;
    if (!tensor.ok() || element_count(tensor.value().sizes) > kMostElements) return found;
    const TensorNumbers numbers(tensor.value());
    found.emplace().statistics = numbers.statistics();
    const Moments& finite = found->statistics.real.finite;
    PageHistogram& histogram = found->histogram;
    histogram.counts = numbers.histogram(finite, kBins);
    if (histogram.counts.empty()) return found;
    const double least = finite.minimum.as_double();
    const double width = (finite.maximum.as_double() - least) / kBins;
    for (std::size_t bin = 0; bin <= kBins; ++bin)
        histogram.edges.push_back(least + width * static_cast<double>(bin));
    return found;
}

}  // namespace aoti_dbg::cli

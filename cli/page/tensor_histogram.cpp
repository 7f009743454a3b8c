// See tensor_histogram.hpp.
#include "cli/page/tensor_histogram.hpp"

#include "cli/recording_files.hpp"
#include "cli/tensor_numbers.hpp"

namespace aoti_dbg::cli {

PageHistogram histogram_of(const std::string& path) {
    constexpr std::size_t kBins = 24;
    PageHistogram histogram;
    FolderFiles files;
    const Result<FileContents> contents = files.open(path);
    if (!contents.ok()) return histogram;
    const Result<PtView> tensor = read_pt(contents.value().bytes, PtCheck::all_but_checksums);
    // An expanded tensor has a small file and many elements.
    constexpr std::uint64_t kMostElements = std::uint64_t{64} << 20U;
    if (!tensor.ok() || element_count(tensor.value().sizes) > kMostElements) return histogram;
    const TensorNumbers numbers(tensor.value());
    const Moments finite = numbers.statistics().real.finite;
    histogram.counts = numbers.histogram(finite, kBins);
    if (histogram.counts.empty()) return histogram;
    const double least = finite.minimum.as_double();
    const double width = (finite.maximum.as_double() - least) / kBins;
    for (std::size_t bin = 0; bin <= kBins; ++bin)
        histogram.edges.push_back(least + width * static_cast<double>(bin));
    return histogram;
}

}  // namespace aoti_dbg::cli

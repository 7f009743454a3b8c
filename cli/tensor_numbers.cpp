// See tensor_numbers.hpp.
#include "cli/tensor_numbers.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/tensor_elements.hpp"
#include "serializer/element_value.hpp"
#include "stats_kernels/cpu_statistics.hpp"

namespace aoti_dbg::cli {

TensorNumbers::TensorNumbers(const PtView& tensor)
    : tensor_(tensor), count_(element_count(tensor.sizes)), bytes_(elements_in_order(tensor)) {}

TensorStatistics TensorNumbers::statistics() const {
    const std::array sizes = {static_cast<std::int64_t>(count_)};
    const std::array strides = {std::int64_t{1}};
    return measure({bytes_.data(), tensor_.dtype, sizes, strides, tensor_.bits}, Requested::indices);
}

const std::byte* TensorNumbers::element(std::uint64_t element) const {
    return bytes_.data() + element * element_size(tensor_.dtype);
}

double TensorNumbers::number(std::uint64_t which, std::uint32_t part) const {
    const std::byte* at = element(which);
    const std::byte packed = is_packed(tensor_.dtype) ? packed_number(*at, part) : std::byte{};
    if (is_packed(tensor_.dtype)) at = &packed;
    const DType dtype = part_dtype(tensor_.dtype);
    const std::size_t offset = is_complex(tensor_.dtype) ? std::size_t{part} * element_size(dtype) : 0;
    const double value = element_value(dtype, at + offset);
    const bool is_negated = tensor_.bits.negative != (tensor_.bits.conjugate && part == 1);
    return is_negated ? -value : value;
}

std::vector<std::uint64_t> TensorNumbers::histogram(const Moments& finite, std::size_t bins) const {
    const double least = finite.minimum.as_double();
    const double range = finite.maximum.as_double() - least;
    if (finite.count == 0 || tensor_.dtype == DType::boolean || !(range > 0) || std::isinf(range)) return {};
    std::vector<std::uint64_t> counts(bins);
    const std::uint32_t parts = is_packed(tensor_.dtype) ? 2 : 1;
    for (std::uint64_t i = 0; i < count_; ++i) {
        for (std::uint32_t part = 0; part < parts; ++part) {
            const double place = (number(i, part) - least) / range * static_cast<double>(bins);
            if (std::isfinite(place)) ++counts[std::min(static_cast<std::size_t>(place), bins - 1)];
        }
    }
    return counts;
}

}  // namespace aoti_dbg::cli

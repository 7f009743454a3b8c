// Finds where in a tensor the elements of a finding are. The result is exact if the values are available.
// Otherwise it derives from the count and the first index. It must not claim more than that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// The values to search for.
struct Wrong {
    bool nan = false;
    bool positive_infinity = false;
    bool negative_infinity = false;
};

/// Returns how many elements of a measured tensor match. For a complex tensor this is a lower bound.
std::uint64_t count_wrong(const TensorStatistics& statistics, Wrong wrong);

struct WrongPlaces {
    std::vector<std::uint64_t> first;  // a few logical indices, in order; empty if unknown
    std::string text;  // "the row [2, :]", "the count matches 3 rows, ..."; empty if there is no pattern
};

/// `argument` must be measured and have at least one such element.
WrongPlaces places_of_wrong(const MeasuredArgument& argument, Wrong wrong);

}  // namespace aoti_dbg

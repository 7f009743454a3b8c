// Where in a tensor the elements of a finding are, as far as that can be known: exactly where the values are
// there, else by their number and the first of them. Claims no more than that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// What is looked for in an element.
struct Wrong {
    bool nan = false;
    bool positive_infinity = false;
    bool negative_infinity = false;
};

/// How many elements of a measured tensor are that; of a complex one at least so many.
std::uint64_t count_wrong(const TensorStatistics& statistics, Wrong wrong);

struct WrongPlaces {
    std::vector<std::uint64_t> first;  // logical indices, a few, in order; empty: not known
    std::string text;  // "the row [2, :]", "the count matches 3 rows, ..."; empty: nothing to say
};

/// `argument` is measured and has at least one.
WrongPlaces places_of_wrong(const MeasuredArgument& argument, Wrong wrong);

}  // namespace aoti_dbg

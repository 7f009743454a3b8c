// What an input is, held against what the wrapper source says that the model was compiled for. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/wrapper_info.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// One thing that is wrong, in the words of a finding.
struct Mismatch {
    std::string check;  // "dtype"
    std::string expected;
    std::string found;
    std::string advice;
};

/// At most one for each kind of check; none where all is well. `relies_on_strides`: relies_on_strides() of
/// the input.
std::vector<Mismatch> compare_input(const InputGuard& guard, bool relies_on_strides,
                                    const TensorFacts& tensor);

}  // namespace aoti_dbg

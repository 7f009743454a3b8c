// Who wrote the memory that a call is given, by the wrapper source and the calls that the run had made. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/wrapper_info.hpp"

namespace aoti_dbg {

struct LastWriter {
    enum class Kind : std::uint8_t {
        unknown,
        call,
        input,     // the caller of the model
        constant,  // whoever loaded or set it last
        nobody,    // the run has allocated it and called nobody that writes there
    };
    Kind kind = Kind::unknown;
    std::size_t call = 0;    // of Kind::call: index into the calls
    std::string constant;    // of Kind::constant: its name in the module, else in the source
    bool is_likely = false;  // it may have been another, or may only have read
};

/// Of the tensor `name` as the last of `calls` has it. `calls` are the sites of what the run has called, in
/// order, kNone where that is not certain.
LastWriter last_writer(const WrapperInfo& info, const std::vector<std::uint32_t>& calls,
                       std::string_view name);

}  // namespace aoti_dbg

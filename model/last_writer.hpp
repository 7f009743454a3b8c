// Finds what wrote the memory that a call receives, from the wrapper source and the earlier calls of the run.
// Pure.
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
        constant,  // the code that last loaded or set the constant
        no_call,   // the run allocated it, and no call wrote there
    };
    Kind kind = Kind::unknown;
    std::size_t call = 0;    // for Kind::call: index into the calls
    std::string constant;    // for Kind::constant: name in the module, else in the source
    bool is_likely = false;  // it may have been another call, or may only have read
};

/// Finds the writer of the tensor `name` as the last of `calls` receives it. `calls` are the sites of the
/// run's calls in order, kNone if a site is uncertain.
LastWriter last_writer(const WrapperInfo& info, const std::vector<std::uint32_t>& calls,
                       std::string_view name);

}  // namespace aoti_dbg

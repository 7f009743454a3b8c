// What a run came to, said at its end: that nothing loaded the library, or that --require is not met.
#pragma once

#include <optional>
#include <string_view>

#include "cli/preloadable.hpp"
#include "cli/tally_page.hpp"

namespace aoti_dbg::cli {

enum class Requirement { none, launch, model };

std::optional<Requirement> requirement_named(std::string_view word);

/// Says at most one line. `seen` is empty where nobody could count; `asked` where the options select
/// anything; `ended_well` where the program's exit code is 0, so that an unmet requirement decides. Returns
/// whether the requirement is met.
bool judge(Requirement requirement, const std::optional<Seen>& seen, const Finding& finding, bool asked,
           bool ended_well);

}  // namespace aoti_dbg::cli

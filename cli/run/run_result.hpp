// What a run came to, said at its end: that nothing loaded the library, or that --require is not met.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/run/preloadable.hpp"
#include "triage/gather/tally_page.hpp"

namespace aoti_dbg::cli {

inline constexpr int kSawNothing = 123;

enum class Requirement { none, library, launch, model };

std::optional<Requirement> requirement_named(std::string_view word);

struct RequirementResult {
    bool was_asked = false;
    bool is_met = true;
    std::string said;  // where it is not
};

/// How the program that was started ended.
enum class ProgramEnd {
    well,  // by 0
    badly,
    killed_at_once,  // by a signal, within the first second
};

/// Says at most one line. `seen` is empty where nobody could count; `asked` where the options select
/// anything. Where the program ended well an unmet requirement decides.
RequirementResult judge(Requirement requirement, const std::optional<Seen>& seen, const Finding& finding,
                        bool asked, ProgramEnd program_end);

}  // namespace aoti_dbg::cli

// Judges a finished run: whether the library was loaded anywhere and whether --require is met.
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
    std::string said;  // the message, if it is not met
};

/// How the started program ended.
enum class ProgramEnd {
    well,  // exited with 0
    badly,
    killed_at_once,  // by a signal, within the first second
};

/// Prints at most one line. `seen` is empty if nothing could be counted. `asked` is true if the options
/// select anything. If the program exited with 0, an unmet requirement decides the exit code.
RequirementResult judge(Requirement requirement, const std::optional<Seen>& seen,
                        const FoundObstacle& finding, bool asked, ProgramEnd program_end);

}  // namespace aoti_dbg::cli

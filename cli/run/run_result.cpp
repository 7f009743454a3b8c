// See run_result.hpp.
#include "cli/run/run_result.hpp"

#include <string>

#include "base/message.hpp"
#include "base/words.hpp"

namespace aoti_dbg::cli {
namespace {

struct Account {
    std::string what;
    std::string advice;
};

constexpr const char* kWayDown =
    "Check that nothing on the way to the program clears the environment, replaces LD_PRELOAD, or changes "
    "the user or the process namespace (env -i, sudo, ssh, setpriv, a container).";

Account account_of_none(const FoundObstacle& finding, ProgramEnd end) {
    const std::string what = "no process loaded libaoti_dbg.so";
    // The program may have ended before it could load anything, so there is nothing to check.
    if (finding.obstacle == Obstacle::none && end == ProgramEnd::killed_at_once)
        return {what, "A signal ended the program right after its start."};
    if (finding.obstacle == Obstacle::none) return {what, kWayDown};
    return {what + ": " + finding.file + " " + finding.why, finding.advice};
}

/// Processes made calls, but AOTI_DBG_PROCESSES excludes all of them.
bool is_left_out(const Seen& seen) {
    return seen.recording == 0 && seen.left_out > 0;
}

/// Describes how close the run came to an intercepted call.
Account account_of(const std::optional<Seen>& seen, const FoundObstacle& finding, ProgramEnd end) {
    if (!seen)
        return {"cannot count what the processes recorded",
                "Check that /proc is mounted and that ulimit -f allows 4 KiB."};
    if (seen->loaded == 0) return account_of_none(finding, end);
    const std::string loaded = counted(seen->loaded, "program") + " loaded libaoti_dbg.so";
    if (seen->partaking == 0)
        return {loaded + ", but none took part", "Check AOTI_DBG_LEVEL and AOTI_DBG_PROCESSES."};
    if (is_left_out(*seen))
        return {"AOTI_DBG_PROCESSES excludes every process that made calls", "Check its patterns."};
    if (seen->models == 0) {
        const std::string calls = seen->recording == 0 ? "" : ", although calls were intercepted";
        if (seen->partaking < seen->loaded)
            return {
                loaded + ", " + std::to_string(seen->partaking) + " took part, but no model loaded" + calls,
                "Check that a process loads a model, and that AOTI_DBG_PROCESSES does not exclude it."};
        return {loaded + ", but no model loaded" + calls,
                std::string("Check that the program loads a model. ") + kWayDown};
    }
    return {counted(seen->models, "model") + " loaded, but no call was intercepted",
            "Check that the program runs the model."};
}

constexpr const char* kLikelyReasons =
    "Likely reasons: (1) The program uses only eager mode. (2) The model runs in a process without the "
    "library (sudo, env -i, a container, a running server). (3) The program ended before it loaded the "
    "model.";

/// Warns about all processes of the run. No single process can, because it does not know the others.
void warn_if_nothing_seen(const std::optional<Seen>& seen, ProgramEnd end) {
    if (!seen || seen->idle == 0 || seen->recording != 0 || end == ProgramEnd::killed_at_once) return;
    if (seen->models == 0) return message(Severity::warn, "%s. %s", tally::kNothingSeen, kLikelyReasons);
    message(Severity::warn,
            "%s. Check that the program runs the model. The limits in README.md list launches that cannot be "
            "intercepted.",
            tally::kNoCallSeen);
}

const char* word_of(Requirement requirement) {
    switch (requirement) {
        case Requirement::none:
            break;
        case Requirement::library:
            return "library";
        case Requirement::launch:
            return "launch";
        case Requirement::model:
            return "model";
    }
    return "none";
}

bool is_met(Requirement requirement, const std::optional<Seen>& seen) {
    switch (requirement) {
        case Requirement::none:
            return true;
        case Requirement::library:
            return seen && seen->loaded > 0;
        case Requirement::launch:
            return seen && seen->recording > 0;
        case Requirement::model:
            return seen && seen->models > 0 && !is_left_out(*seen);
    }
    return false;
}

}  // namespace

std::optional<Requirement> requirement_named(std::string_view word) {
    if (word == "none") return Requirement::none;
    if (word == "library") return Requirement::library;
    if (word == "launch") return Requirement::launch;
    if (word == "model") return Requirement::model;
    return std::nullopt;
}

RequirementResult judge(Requirement requirement, const std::optional<Seen>& seen,
                        const FoundObstacle& finding, bool asked, ProgramEnd program_end) {
    const bool met = is_met(requirement, seen);
    const bool in_vain = seen && (seen->loaded == 0 || is_left_out(*seen));
    RequirementResult result{requirement != Requirement::none, met, {}};
    if (met && asked && !in_vain) warn_if_nothing_seen(seen, program_end);
    if (met && !(in_vain && asked)) return result;
    const Account account = account_of(seen, finding, program_end);
    if (met) {
        message(Severity::warn, "nothing was recorded: %s. %s", account.what.c_str(), account.advice.c_str());
        return result;
    }
    const std::string end = program_end == ProgramEnd::well
                                ? "The exit code is " + std::to_string(kSawNothing) + " instead of 0."
                                : "The program's own exit code or signal stays.";
    result.said = std::string("--require ") + word_of(requirement) + " is not met: " + account.what + ". " +
                  end + " " + account.advice;
    error_message(ErrorCode::requirement_not_met, "%s", result.said.c_str());
    return result;
}

}  // namespace aoti_dbg::cli

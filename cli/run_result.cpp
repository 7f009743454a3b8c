// See run_result.hpp.
#include "cli/run_result.hpp"

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
    "check that nothing on the way to it clears the environment, sets LD_PRELOAD anew, or changes the user "
    "or "
    "the process namespace (env -i, sudo, ssh, setpriv, a container)";

Account account_of_none(const Finding& finding, ProgramEnd end) {
    const std::string what = "no process loaded libaoti_dbg.so";
    // It may not have come to loading anything, so there is nothing to check.
    if (finding.obstacle == Obstacle::none && end == ProgramEnd::killed_at_once)
        return {what, "a signal ended the program right after its start"};
    if (finding.obstacle == Obstacle::none) return {what, kWayDown};
    return {what + ", since " + finding.file + " " + finding.why, finding.advice};
}

/// What made calls was meant to be seen, and the choice of processes was against it.
bool is_left_out(const Seen& seen) {
    return seen.recording == 0 && seen.left_out > 0;
}

/// How far the run came towards a call that was seen.
Account account_of(const std::optional<Seen>& seen, const Finding& finding, ProgramEnd end) {
    if (!seen) {
        return {"nobody could count what was seen",
                "check that /proc is mounted and that ulimit -f allows 4 KiB"};
    }
    if (seen->loaded == 0) return account_of_none(finding, end);
    const std::string loaded = counted(seen->loaded, "program") + " loaded libaoti_dbg.so";
    if (seen->partaking == 0) {
        return {loaded + ", and none took part", "check AOTI_DBG_LEVEL and AOTI_DBG_PROCESSES"};
    }
    if (is_left_out(*seen)) {
        return {"AOTI_DBG_PROCESSES leaves out every process that made calls", "check its patterns"};
    }
    if (seen->models == 0) {
        const std::string calls = seen->recording == 0 ? "" : ", though calls were seen";
        if (seen->partaking < seen->loaded)
            return {
                loaded + ", " + std::to_string(seen->partaking) + " took part, and no model arrived in " +
                    (seen->partaking == 1 ? "it" : "these") + calls,
                "check that a model is loaded, and that AOTI_DBG_PROCESSES does not leave its process out"};
        return {loaded + ", and no model arrived" + calls,
                std::string("check that a model is loaded; if one is, ") + kWayDown};
    }
    return {counted(seen->models, "model") + " arrived, and no call was seen", "check that the model is run"};
}

/// For all processes of the run. No process says it by itself, since it does not know the others.
void warn_if_nothing_seen(const std::optional<Seen>& seen, ProgramEnd end) {
    if (!seen || seen->idle == 0 || seen->recording != 0 || end == ProgramEnd::killed_at_once) return;
    message(Severity::warn,
            "%s. Check that a process loads a model and runs it. The limits in README.md list launches that "
            "cannot be intercepted.",
            seen->models == 0 ? tally::kNothingSeen : tally::kNoCallSeen);
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

RequirementResult judge(Requirement requirement, const std::optional<Seen>& seen, const Finding& finding,
                        bool asked, ProgramEnd program_end) {
    const bool met = is_met(requirement, seen);
    const bool in_vain = seen && (seen->loaded == 0 || is_left_out(*seen));
    RequirementResult result{requirement != Requirement::none, met, {}};
    if (met && asked && !in_vain) warn_if_nothing_seen(seen, program_end);
    if (met && !(in_vain && asked)) return result;
    const Account account = account_of(seen, finding, program_end);
    if (met) {
        message(Severity::warn, "%s; nothing was seen; %s", account.what.c_str(), account.advice.c_str());
        return result;
    }
    const std::string end = program_end == ProgramEnd::well
                                ? "the exit code is " + std::to_string(kSawNothing) + " instead of 0"
                                : "the program's own failure is passed on";
    result.said = std::string("--require ") + word_of(requirement) + " is not met: " + account.what + "; " +
                  end + "; " + account.advice;
    message(Severity::error, "%s", result.said.c_str());
    return result;
}

}  // namespace aoti_dbg::cli

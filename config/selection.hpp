// Decides what to do for a call: a pure function of the options and the call's place.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/options.hpp"

namespace aoti_dbg {

/// What to do before a call and after it.
struct Selected {
    Levels before;
    Levels after;
    Check check = {};  // before and after, whatever AOTI_DBG_SIDE says: bad inputs explain bad outputs
    [[nodiscard]] bool any() const { return before.any() || after.any() || check.any(); }
    bool operator==(const Selected&) const = default;
};

/// The part of the decision that depends only on the call's name. It is computed once per name.
struct Treatment {
    Levels levels;
    Check check;
    Window runs;
    Window calls;
    Side side = Side::both;
    // Computed from the above, because every call reads them.
    Selected sides;           // what to do for a call that the windows contain
    bool wants_any = false;   // something
    bool wants_all = false;   // the same for every call
    bool has_levels = false;  // its name or its tensors are printed or saved

    /// `run` and `call` count from 0. A call outside of any run has neither, and only an unlimited window
    /// contains it.
    [[nodiscard]] bool wants(std::optional<std::uint64_t> run, std::optional<std::uint64_t> call) const {
        return wants_all || (wants_any && in(runs, run) && in(calls, call));
    }
    void compute() {
        sides = {side == Side::after ? Levels{} : levels, side == Side::before ? Levels{} : levels, check};
        wants_any = sides.any();
        has_levels = sides.before.any() || sides.after.any();
        wants_all = wants_any && runs.holds_everything() && calls.holds_everything();
    }

  private:
    static bool in(const Window& window, std::optional<std::uint64_t> number) {
        return number ? window.holds(*number) : window.holds_everything();
    }
};

/// `printed` is PyTorch's name, `symbol` the shim's or the mangled name. Patterns match either. If `kernels`
/// matches neither name, nothing is done at any level. The first matching rule overrides the general options.
/// A rule with level 0 also disables checks.
Treatment treatment_of(const Options& options, std::string_view printed, std::string_view symbol);

/// The place of a call. `call` is the number of the model's own call that it is or is nested in.
struct CallPlace {
    std::string_view printed;
    std::string_view symbol;
    std::optional<std::uint64_t> run;
    std::optional<std::uint64_t> call;
};

Selected select(const Options& options, const CallPlace& place);

/// Returns whether any call may be selected.
bool may_select(const Options& options);

/// Returns whether any call may need more than a record.
bool may_show(const Options& options);
/// Returns whether any call may be measured, for printed statistics or for findings.
bool may_measure(const Options& options);
/// Returns whether the arguments of all runs and calls are checked, selected or not.
bool checks_arguments(const Options& options);
/// Returns whether the library tracks the order of calls.
bool looks_for_races(const Options& options);
/// Returns whether anything may be measured or found.
bool may_find(const Options& options);
/// Returns the check of values that applies if no option sets one.
Check default_check(const Options& options, const Levels& levels);
/// Returns whether any tensor may be saved.
bool may_save(const Options& options);

/// Returns whether saved tensors of a run may be removed.
bool may_remove_runs(const Options& options);

/// Returns whether unselected calls must be followed to their end. A nested call takes its indentation from
/// them, or its number if calls are selected by number.
bool follows_unselected(const Options& options);

/// Returns whether runs that no window selects need no inspection. With `scope all`, calls of a nested run
/// take their indentation from them.
bool may_skip_runs(const Options& options);

/// Returns whether any call of the run with this number may be selected.
bool may_select_run(const Options& options, std::uint64_t run);

}  // namespace aoti_dbg

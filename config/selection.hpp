// What is done with a call: a pure function of the options and of where the call stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/options.hpp"

namespace aoti_dbg {

/// What is to be done before a call and after it.
struct Selected {
    Levels before;
    Levels after;
    Check check = {};  // on both sides, whatever AOTI_DBG_SIDE says: what goes in excuses what comes out
    [[nodiscard]] bool any() const { return before.any() || after.any() || check.any(); }
    bool operator==(const Selected&) const = default;
};

/// The part of the answer that depends on the call's name alone: worked out once a name.
struct Treatment {
    Levels levels;
    Check check;
    Window runs;
    Window calls;
    Side side = Side::both;

    /// `run` and `call` number from 0; a call outside of any run has neither. Such a call is in no window but
    /// the one that holds everything.
    [[nodiscard]] bool wants(std::optional<std::uint64_t> run, std::optional<std::uint64_t> call) const {
        return (levels.any() || check.any()) && in(runs, run) && in(calls, call);
    }
    [[nodiscard]] Selected sides() const {
        return {side == Side::after ? Levels{} : levels, side == Side::before ? Levels{} : levels, check};
    }

  private:
    static bool in(const Window& window, std::optional<std::uint64_t> number) {
        return number ? window.holds(*number) : window.holds_everything();
    }
};

/// `printed` is what PyTorch calls it, `symbol` the shim's or the mangled name; patterns know it by both.
/// With names that `kernels` does not match nothing is done. The first rule that matches the name says what
/// differs for it; one that says level 0 switches the search for findings off, too.
Treatment treatment_of(const Options& options, std::string_view printed, std::string_view symbol);

/// Where a call stands. Its number is that of the model's own call that it is or lies in.
struct CallPlace {
    std::string_view printed;
    std::string_view symbol;
    std::optional<std::uint64_t> run;
    std::optional<std::uint64_t> call;
};

Selected select(const Options& options, const CallPlace& place);

/// Whether any call at all may be selected.
bool may_select(const Options& options);

/// Whether anything may be wanted of any call but that it is on record.
bool may_show(const Options& options);
/// Whether any call may be measured: printed with statistics, or looked at for findings.
bool may_measure(const Options& options);
/// Whether what runs and calls are given is checked: of all of them, selected or not.
bool checks_arguments(const Options& options);
/// Whether it is followed what is ordered with what.
bool looks_for_races(const Options& options);
/// Whether anything may be measured or found.
bool may_find(const Options& options);
/// What is looked for in values where no option says it.
Check default_check(const Options& options, const Levels& levels);
/// Whether any tensor may be saved.
bool may_save(const Options& options);

/// Whether calls that are not selected must be followed to their end, because a call that lies in them takes
/// something from them: its indentation, or its number where calls are selected by that.
bool follows_unselected(const Options& options);

/// Whether any call of the run with this number may be.
bool may_select_run(const Options& options, std::uint64_t run);

}  // namespace aoti_dbg

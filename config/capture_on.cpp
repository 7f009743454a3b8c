#include "config/capture_on.hpp"

#include <algorithm>

namespace aoti_dbg {

std::string contradiction_of_capture_on(const Options& options) {
    const bool is_for_fault = options.capture_on == CaptureOn::fault;
    const bool is_for_finding = options.capture_on == CaptureOn::finding;
    if (is_for_fault && options.save_on == SaveOn::finding)
        return "fault keeps the last runs, but --save-on finding keeps only runs with a finding. "
               "Leave out --save-on, or use --capture-on finding.";
    if (is_for_fault && options.keep_given && options.keep_last == 0)
        return "fault keeps the last runs, but --keep first keeps the first ones. Set --keep to last:N, or "
               "leave it out.";
    if (is_for_finding && options.save_on_given && options.save_on == SaveOn::always)
        return "finding keeps only runs with a finding, but --save-on always keeps all runs. Leave out "
               "--save-on.";
    if (is_for_finding && options.check && !options.check->any())
        return "finding needs a check, but --check none turns all checks off. Leave out --check, or list "
               "checks, such as --check nan.";
    return {};
}

void settle_capture_on(Options& options) {
    if (options.capture_on == CaptureOn::fault) {
        options.save_on = SaveOn::always;
        options.keep_last = std::max(options.keep_last, 1U);
    }
    if (options.capture_on != CaptureOn::finding) return;
    options.save_on = SaveOn::finding;
    if (options.check && options.check->any()) return;
    Check check;
    check.nan = check.inf = true;
    check.args = options.triage;
    options.check = check;
}

}  // namespace aoti_dbg

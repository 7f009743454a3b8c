// The values about findings, faults and hangs. See option_readers.hpp.
#include <utility>

#include "config/option_readers.hpp"

namespace aoti_dbg::option_values {
namespace {

constexpr std::uint32_t kLongestHang = 86400;  // a day

}  // namespace

Taken take_check(const Texts& texts, Options& options) {
    Check check;
    bool none = false;
    for (const std::string_view text : texts) {
        for (const std::string_view word : split_list(text, Commas::all)) {
            if (equal_ignoring_case(word, "nan")) {
                check.nan = true;
            } else if (equal_ignoring_case(word, "inf")) {
                check.inf = true;
            } else if (equal_ignoring_case(word, "args")) {
                check.args = true;
            } else if (equal_ignoring_case(word, "races")) {
                check.races = true;
            } else if (equal_ignoring_case(word, "none") || equal_ignoring_case(word, "off")) {
                none = true;
            } else {
                return unknown_word(word, {"nan", "inf", "args", "races", "none"});
            }
        }
    }
    if (none && check.any()) return Fault{"none cannot be combined with checks", {}, {}};
    if (!none && !check.any()) return Fault{};
    options.check = check;
    return std::nullopt;
}

Taken take_on_finding(const Texts& texts, Options& options) {
    return take_word(
        texts, {{"report", OnFinding::report}, {"raise", OnFinding::raise}, {"abort", OnFinding::abort}},
        options.on_finding);
}

Taken take_suppress(const Texts& texts, Options& options) {
    Suppressions suppressions;
    for (const std::string_view text : texts) {
        const Status added = suppressions.add_list(text);
        if (!added.ok()) return Fault{added.message(), {}, {}};
    }
    if (suppressions.empty()) return Fault{"it has no pattern", {}, {}};
    options.suppress = std::move(suppressions);
    return std::nullopt;
}

Taken take_triage(const Texts& texts, Options& options) {
    return take_switch(texts, options.triage);
}

Taken take_on_fault(const Texts& texts, Options& options) {
    return take_word(texts,
                     {{"continue", OnFault::go_on}, {"raise", OnFault::raise}, {"abort", OnFault::abort}},
                     options.on_fault);
}

Taken take_keep_dump(const Texts& texts, Options& options) {
    return take_switch(texts, options.keep_dump);
}

Taken take_hang(const Texts& texts, Options& options) {
    return take_capped(texts, "off", kLongestHang, options.hang);
}

Taken take_on_hang(const Texts& texts, Options& options) {
    return take_word(texts, {{"report", OnHang::report}, {"raise", OnHang::raise}, {"abort", OnHang::abort}},
                     options.on_hang);
}

Taken take_completion(const Texts& texts, Options& options) {
    return take_word(texts,
                     {{"auto", Completion::automatic},
                      {"off", Completion::off},
                      {"markers", Completion::markers},
                      {"blocking", Completion::blocking}},
                     options.completion);
}

Taken take_evidence(const Texts& texts, Options& options) {
    return take_switch(texts, options.evidence);
}

Taken take_ci(const Texts& texts, Options& options) {
    return take_switch(texts, options.ci);
}

Taken take_verdict_file(const Texts& texts, Options& options) {
    return take_text(texts, options.verdict_file);
}

Taken take_max_reports(const Texts& texts, Options& options) {
    if (equal_ignoring_case(only_text(texts), "all")) {
        options.max_reports = UINT64_MAX;
        return std::nullopt;
    }
    const std::optional<std::uint64_t> number = decimal(only_text(texts));
    if (!number || *number == 0) return Fault{};
    options.max_reports = *number;
    return std::nullopt;
}

}  // namespace aoti_dbg::option_values

// Applies the layers: defaults, configuration file, environment. option_values*.cpp define the meaning of
// values. Must not throw, use the locale or touch the process.
#include "config/options.hpp"

#include <algorithm>
#include <cstddef>

#include "config/capture_on.hpp"
#include "config/complaints.hpp"
#include "config/config_file.hpp"
#include "config/option_values.hpp"
#include "config/words.hpp"

namespace aoti_dbg {
namespace {

constexpr std::string_view kConfig = "AOTI_DBG_CONFIG";
constexpr std::string_view kCaptureOn = "AOTI_DBG_CAPTURE_ON";
constexpr std::string_view kSuppress = "AOTI_DBG_SUPPRESS";

// The most bytes of a text that a complaint repeats.
constexpr std::size_t kLongestPattern = 200;
constexpr std::size_t kLongestReason = 300;

// Variables with our prefix that are not options. The command passes some to the library. Scripts of the
// source tree use the others, and their programs inherit them.
constexpr std::string_view kOtherVariables[] = {
    "AOTI_DBG_TALLY",   kDefaultLevelVariable,   "AOTI_DBG_CACHE",   "AOTI_DBG_GPU_OUT",
    "AOTI_DBG_OFFLINE", "AOTI_DBG_TORCH_PYTHON", "AOTI_DBG_VERBOSE",
};

/// Returns an empty text if the variable is unset or blank, which mean the same.
std::string_view value_of(const Environment& environment, std::string_view variable) {
    const char* const value = environment ? environment(variable.data()) : nullptr;
    return value == nullptr ? std::string_view() : trimmed(value);
}

using Fields = std::vector<std::string_view>;

/// CI changes some defaults. The file and the environment override them.
void set_defaults_of_ci(const Environment& environment, Options& options) {
    for (const OptionRow& row : option_rows()) {
        if (row.info.field != "ci") continue;
        Options asked;
        const std::string_view text = value_of(environment, row.info.variable);
        if (text.empty() || row.take({text}, asked) || !asked.ci) continue;
        options.portable_names = true;
        options.on_fault = OnFault::abort;
    }
}

/// Returns the fields that the file set.
Fields read_file(const Sources& sources, Options& options, Complaints& complaints) {
    const std::string path(value_of(sources.environment, kConfig));
    if (path.empty()) return {};
    const Result<std::string> text =
        sources.read_file ? sources.read_file(path) : Status::error("cannot read files here");
    if (text.ok()) return apply_config_file(path, text.value(), options, complaints);
    complaints.add([&] {
        return std::string(kConfig) + ": " + printable(text.status().message(), kLongestReason) +
               ". The file is ignored. Set " + std::string(kConfig) + " to a readable file of at most 1 MiB.";
    });
    return {};
}

/// Returns a sentence without full stop that says what applies instead of an invalid variable.
std::string taken_instead(const OptionInfo& info, const Fault& fault, const Fields& in_file) {
    if (!fault.instead.empty()) return fault.instead;
    if (std::find(in_file.begin(), in_file.end(), info.field) != in_file.end()) {
        return "Using the value in the configuration file";
    }
    // PyTorch's variables rank between ours and the file, so their default may not be what applies.
    if (info.standard.empty() || info.flag.empty()) return "The value is ignored";
    return "Using the default, " + std::string(info.standard);
}

void read_variable(const OptionRow& row, std::string_view text, const Fields& in_file, Options& options,
                   Complaints& complaints) {
    const Taken fault = row.take({text}, options);
    if (fault) {
        complaints.add([&] {
            return std::string(row.info.variable) + ": " +
                   explanation(row.info, text, *fault, taken_instead(row.info, *fault, in_file));
        });
        return;
    }
    const RulePart* const part = rule_part(row.info.field);
    if (part == nullptr) return;
    for (Rule& rule : options.rules)
        part->unset(rule);
}

void read_environment(const Environment& environment, const Fields& in_file, Options& options,
                      Complaints& complaints) {
    for (const OptionRow& row : option_rows()) {
        const std::string_view text = value_of(environment, row.info.variable);
        if (!text.empty()) read_variable(row, text, in_file, options, complaints);
    }
}

/// Reads the files that AOTI_DBG_SUPPRESS names.
void read_suppressions(const Sources& sources, Options& options, Complaints& complaints) {
    const auto complain = [&](const std::string& what) {
        complaints.add([&] { return std::string(kSuppress) + ": " + what; });
    };
    const auto text_of = [&](const std::string& file) {
        return sources.read_file ? sources.read_file(file) : Status::error("cannot read files here");
    };
    for (const std::string& file : options.suppress.files()) {
        const Result<std::string> text = text_of(file);
        if (!text.ok()) {
            complain(printable(text.status().message(), kLongestReason) +
                     ". None of its findings are suppressed. Check the path.");
            continue;
        }
        for (const std::string& fault : options.suppress.add_lines(text.value()))
            complain(printable(file, kLongestPattern) + ", " + fault);
    }
    // Otherwise a file name without a slash would silently suppress nothing.
    for (const std::string& pattern : options.suppress.plain_patterns()) {
        if (!text_of(pattern).ok()) continue;
        const std::string file = printable(pattern, kLongestPattern);
        std::string what =
            file + " is taken as the name of a kernel, but a file has this name, too. Write ./";
        complain(what.append(file).append(" to use the file."));
    }
}

void look_for_unknown(const Sources& sources, Complaints& complaints) {
    Fields known;
    for (const OptionRow& row : option_rows())
        known.push_back(row.info.variable);
    for (const std::string& name : sources.variables) {
        const auto is_name = [&](std::string_view other) { return name == other; };
        if (std::any_of(known.begin(), known.end(), is_name)) continue;
        if (std::any_of(std::begin(kOtherVariables), std::end(kOtherVariables), is_name)) continue;
        if (value_of(sources.environment, name).empty()) continue;
        complaints.add([&] {
            const std::string_view near = nearest_word(name, known);
            return "unknown variable " + printable(name, 80) + " is ignored. " +
                   (near.empty() ? "`aoti-dbg run --help-all` lists all options."
                                 : "Did you mean " + std::string(near) + "?");
        });
    }
}

Options read_options(const Sources& sources, Complaints& complaints) {
    Options options;
    set_defaults_of_ci(sources.environment, options);
    const Fields in_file = read_file(sources, options, complaints);
    read_environment(sources.environment, in_file, options, complaints);
    return options;
}

}  // namespace

std::string contradiction_in(const Sources& sources) {
    std::vector<std::string> unused;
    Complaints complaints(unused);
    return contradiction_of_capture_on(read_options(sources, complaints));
}

Options parse_options(const Sources& sources, std::vector<std::string>& complaints) {
    Complaints gathered(complaints);
    Options options = read_options(sources, gathered);
    if (const std::string why = contradiction_of_capture_on(options); !why.empty())
        gathered.add([&] { return std::string(kCaptureOn) + ": " + why + " --capture-on applies."; });
    settle_capture_on(options);
    read_suppressions(sources, options, gathered);
    // A captured launch needs its tensors, whatever else is requested.
    if (options.captures) options.levels.files = true;
    // If only findings are requested, print nothing else.
    const bool has_something_to_do = options.level_given || (options.check && options.check->any());
    if (!has_something_to_do && value_of(sources.environment, kDefaultLevelVariable) == "3") {
        options.levels.names = true;
    }
    look_for_unknown(sources, gathered);
    gathered.close();
    return options;
}

std::string fault_of_value(std::string_view variable, std::string_view value) {
    const std::string_view text = trimmed(value);
    for (const OptionRow& row : option_rows()) {
        if (variable != row.info.variable) continue;
        Options unused;
        if (const Taken fault = row.take({text}, unused)) {
            return explanation(row.info, text, *fault, {});
        }
        if (variable == kSuppress) {
            for (const std::string& name : unused.suppress.files()) {
                const Result<std::string> file = process_sources().read_file(name);
                if (!file.ok()) return printable(file.status().message(), kLongestReason) + ".";
            }
        }
        if (variable != kConfig) return {};
        const Result<std::string> file = process_sources().read_file(std::string(text));
        return file.ok() ? fault_of_config_file(text, file.value())
                         : printable(file.status().message(), kLongestReason) + ".";
    }
    return "unknown option.";
}

}  // namespace aoti_dbg

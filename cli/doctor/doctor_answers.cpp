// Parses the output lines of doctor_child.cpp. It must accept extra lines, because a driver may print its
// own, and missing lines, because a child may crash.
#include <functional>

#include "cli/doctor/doctor_child.hpp"
#include "cli/doctor/doctor_trials.hpp"
#include "cli/whole_number.hpp"
#include "config/words.hpp"
#include "serializer/cuda_error.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kLongestValue = 300;

/// Returns the first word of `text`, and the rest without surrounding blanks.
std::pair<std::string_view, std::string_view> split(std::string_view text) {
    const std::size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return {text, {}};
    return {text.substr(0, blank), trimmed(text.substr(blank + 1))};
}

void for_each_line(std::string_view answers,
                   const std::function<void(std::string_view what, std::string_view value)>& use) {
    while (!answers.empty()) {
        const std::size_t end = answers.find('\n');
        if (end == std::string_view::npos) return;  // incomplete
        const auto [what, value] = split(answers.substr(0, end));
        use(what, value);
        answers.remove_prefix(end + 1);
    }
}

std::string clean(std::string_view text) {
    return printable(text, kLongestValue);
}

/// Spells out a result such as "cuModuleLoadData 218".
std::string stopped_text(std::string_view value) {
    const auto [function, result] = split(value);
    const CudaError error = cuda_error(whole_number<int>(result).value_or(-1));
    return clean(function) + ": " + std::string(error.words) + " (" + clean(result) + ")";
}

}  // namespace

void read_driver(std::string_view answers, DriverFacts& facts) {
    for_each_line(answers, [&facts](std::string_view what, std::string_view value) {
        if (what == "missing") facts.missing = clean(value);
        if (what == "version") facts.version = whole_number<int>(value).value_or(0);
        if (what == "init") facts.init = whole_number<int>(value);
        if (what == "dumps") facts.dump_attributes = whole_number<int>(value);
        if (what == "dump_callback") facts.announces_dumps = true;
        if (what == "gpu") facts.gpus.push_back({clean(value), {}, {}, 0, 0});
        if (facts.gpus.empty()) return;
        Gpu& gpu = facts.gpus.back();
        if (what == "uuid") gpu.uuid = clean(value);
        if (what == "capability") gpu.capability = clean(value);
        if (what == "memory") gpu.memory = whole_number<std::uint64_t>(value).value_or(0);
        if (what == "mode") gpu.compute_mode = whole_number<int>(value).value_or(0);
    });
}

void read_doors(std::string_view answers, DoorFacts& facts) {
    for_each_line(answers, [&facts](std::string_view what, std::string_view value) {
        if (what == "dlsym") facts.dlsym_of = clean(value);
        if (what == "stopped" && facts.stopped.empty()) facts.stopped = stopped_text(value);
        if (what != "door") return;
        const auto [name, result] = split(value);
        facts.doors.push_back({clean(name), whole_number<int>(result), false});
    });
}

void read_fault(std::string_view answers, FaultFacts& facts) {
    for_each_line(answers, [&facts](std::string_view what, std::string_view value) {
        if (what == "stopped") facts.stopped = stopped_text(value);
        if (what == "launch") facts.launch = whole_number<int>(split(value).first);
        if (what == "error") facts.error = whole_number<int>(value);
    });
}

}  // namespace aoti_dbg::cli

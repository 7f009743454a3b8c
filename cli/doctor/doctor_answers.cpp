// Parses the output lines of doctor_child.cpp. It must accept extra lines, because a driver may print its
// own, and missing lines, because a child may crash.
#include <charconv>
#include <functional>

#include "cli/doctor/doctor_child.hpp"
#include "cli/doctor/doctor_trials.hpp"
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

void for_each_line(std::string_view said,
                   const std::function<void(std::string_view what, std::string_view value)>& use) {
    while (!said.empty()) {
        const std::size_t end = said.find('\n');
        if (end == std::string_view::npos) return;  // incomplete
        const auto [what, value] = split(said.substr(0, end));
        use(what, value);
        said.remove_prefix(end + 1);
    }
}

template <typename Number = int>
std::optional<Number> number_in(std::string_view text) {
    Number number = 0;
    const std::from_chars_result read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
    return number;
}

std::string clean(std::string_view text) {
    return printable(text, kLongestValue);
}

/// Spells out a result such as "cuModuleLoadData 218".
std::string stopped_text(std::string_view value) {
    const auto [function, result] = split(value);
    const CudaError error = cuda_error(number_in(result).value_or(-1));
    return clean(function) + ": " + std::string(error.words) + " (" + clean(result) + ")";
}

}  // namespace

void read_driver(std::string_view said, DriverFacts& facts) {
    for_each_line(said, [&facts](std::string_view what, std::string_view value) {
        if (what == "missing") facts.missing = clean(value);
        if (what == "version") facts.version = number_in(value).value_or(0);
        if (what == "init") facts.init = number_in(value);
        if (what == "dumps") facts.dump_attributes = number_in(value);
        if (what == "dump_callback") facts.announces_dumps = true;
        if (what == "gpu") facts.gpus.push_back({clean(value), {}, {}, 0, 0});
        if (facts.gpus.empty()) return;
        Gpu& gpu = facts.gpus.back();
        if (what == "uuid") gpu.uuid = clean(value);
        if (what == "capability") gpu.capability = clean(value);
        if (what == "memory") gpu.memory = number_in<std::uint64_t>(value).value_or(0);
        if (what == "mode") gpu.compute_mode = number_in(value).value_or(0);
    });
}

void read_doors(std::string_view said, DoorFacts& facts) {
    for_each_line(said, [&facts](std::string_view what, std::string_view value) {
        if (what == "dlsym") facts.dlsym_of = clean(value);
        if (what == "stopped" && facts.stopped.empty()) facts.stopped = stopped_text(value);
        if (what != "door") return;
        const auto [name, result] = split(value);
        facts.doors.push_back({clean(name), number_in(result), false});
    });
}

void read_fault(std::string_view said, FaultFacts& facts) {
    for_each_line(said, [&facts](std::string_view what, std::string_view value) {
        if (what == "stopped") facts.stopped = stopped_text(value);
        if (what == "launch") facts.launch = number_in(split(value).first);
        if (what == "error") facts.error = number_in(value);
    });
}

}  // namespace aoti_dbg::cli

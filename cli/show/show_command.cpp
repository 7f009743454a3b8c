// See show_command.hpp.
#include "cli/show/show_command.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>

#include "cli/show/show.hpp"
#include "cli/show/show_events.hpp"
#include "cli/show/show_gpu_dump.hpp"
#include "cli/typed_words.hpp"
#include "config/words.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kUsualCalls = 20;

constexpr const char* kExamples =
    "Examples:\n"
    "  aoti-dbg show aoti_dbg/20261121-093000-4242     the last calls of this run\n"
    "  aoti-dbg show --thread 4250 --last 100\n"
    "  aoti-dbg show --format compact | less -S        every tensor of the newest run\n"
    "  aoti-dbg show core_1790000000_node7.nvcudmp     the fault in a GPU core dump\n";

template <typename Number>
std::optional<Number> whole_number(const std::string& text) {
    Number number = 0;
    const char* const end = text.data() + text.size();
    const std::from_chars_result read = std::from_chars(text.data(), end, number);
    return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

/// Describes contradictory flags. Empty if there are none.
std::string contradiction(const ShowFlags& flags) {
    if (flags.all && !flags.last.empty())
        return "--last and --all contradict each other. Give only one of them.";
    if (flags.format.empty() || (!flags.all && flags.last.empty())) return {};
    return "--format prints every event. Leave out " + std::string(flags.all ? "--all" : "--last") + ".";
}

}  // namespace

void add_flags(CLI::App& app, ShowFlags& flags) {
    app.footer(kExamples);
    app.add_option("place", flags.place,
                   "A recorded file, or a directory with one in it or below it. Default: aoti_dbg.")
        ->type_name("");
    app.add_option("--last", flags.last,
                   "Print this many calls, and older ones that did not end. Default: 20.")
        ->type_name("N");
    app.add_flag("--all", flags.all, "Print every call in the ring.");
    app.add_option("--thread", flags.thread, "Print only calls of the thread with this id.")->type_name("ID");
    app.add_option("--format", flags.format,
                   "Print the recorded tensors (level 2) instead of calls: as text, compact or jsonl.")
        ->type_name("FORMAT");
}

int show_command(const ShowFlags& flags) {
    if (const std::string fault = contradiction(flags); !fault.empty()) return refuse("show", fault);
    const std::optional<std::size_t> last =
        flags.last.empty() ? kUsualCalls : whole_number<std::size_t>(flags.last);
    if (!last)
        return refuse("show", "--last: " + wrong_value(flags.last, "a number of calls, 0 or more", {}));
    std::optional<std::uint32_t> thread;
    if (!flags.thread.empty()) {
        thread = whole_number<std::uint32_t>(flags.thread);
        if (!thread) return refuse("show", "--thread: " + wrong_value(flags.thread, "a thread id", {}));
    }
    if (flags.format.empty() && is_gpu_dump(flags.place)) return show_gpu_dump(flags.place);
    if (flags.format.empty()) return show({flags.place, *last, flags.all, thread});
    const std::optional<EventFormat> format = event_format_named(lower_case(flags.format));
    if (!format)
        return refuse("show", "--format: " + wrong_value(flags.format, "text, compact or jsonl",
                                                         {"text", "compact", "jsonl"}));
    return show_events({flags.place, *format, thread});
}

}  // namespace aoti_dbg::cli

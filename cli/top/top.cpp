#include "cli/top/top.hpp"

#include <algorithm>
#include <cinttypes>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/message.hpp"
#include "cli/print.hpp"
#include "cli/recorded_file.hpp"
#include "cli/top/kernel_times.hpp"
#include "cli/top/terminal.hpp"
#include "cli/top/top_text.hpp"
#include "cli/whole_number.hpp"
#include "serializer/flight_ring_format.hpp"
#include "triage/gather/recorded_processes.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kRefreshMilliseconds = 1000;
constexpr std::string_view kClearScreen = "\x1b[H\x1b[2J";
constexpr std::size_t kLinesAround = 4;  // of the table: its head, its end and the prompt

/// Returns the path of the process's flight ring, which it maps while it records. Empty if there is none.
std::string ring_of(const std::string& pid) {
    std::ifstream maps("/proc/" + pid + "/maps");
    for (std::string line; std::getline(maps, line);) {
        const std::size_t path = line.find('/');
        if (path == std::string::npos) continue;
        const std::string name = fs::path(line.substr(path)).filename().string();
        if (name.starts_with("flight") && name.find(".ring") != std::string::npos) return line.substr(path);
    }
    return {};
}

bool is_process_running(const ProcessFiles& process) {
    if (process.ring.empty()) return false;
    RecordedFile file(process.ring.c_str());
    ring::FileHeader header{};
    if (file.read(reinterpret_cast<char*>(&header), sizeof header) != sizeof header) return false;
    return header.magic == ring::kMagic && is_running(header);
}

bool is_any_running(const FoundProcesses& found) {
    return std::ranges::any_of(found.processes, is_process_running);
}

Result<FoundProcesses> find(const std::string& place) {
    if (!whole_number<std::uint32_t>(place) || fs::exists(place)) return find_processes(place);
    if (!fs::exists("/proc/" + place))
        return Status::error("no process has the id " + place +
                             ". Pass the id of a running process, or an output directory");
    const std::string ring = ring_of(place);
    if (ring.empty())
        return Status::error("process " + place +
                             " records nothing, or belongs to another user. Start it with aoti-dbg run, and "
                             "wait for its first call");
    return find_processes(ring);
}

/// Shows the table each second until the programs end or the user quits.
int show_live(const TopRequest& request) {
    LiveTerminal terminal;
    KernelTimer timer(true);
    for (;;) {
        const Result<FoundProcesses> found = find(request.place);
        // The process may just have ended.
        if (!found.ok()) return 0;
        const bool goes_on = is_any_running(found.value());
        timer.add(found.value().processes, !goes_on);
        const std::size_t rows = LiveTerminal::rows();
        const std::size_t most = rows > kLinesAround + 1 ? rows - kLinesAround : 1;
        std::string text(kClearScreen);
        const KernelTimes times = timer.times();
        const std::size_t shown = most - std::min(most - 1, times.devices.size());
        text += top_table(times, std::min(request.limit, shown), LiveTerminal::columns());
        text += goes_on ? "Press q to quit.\n" : "The program has ended.\n";
        if (const int failed = print(text); failed != 0) return failed;
        if (!goes_on || terminal.waits_to_quit(kRefreshMilliseconds)) return 0;
    }
}

}  // namespace

int top(const TopRequest& request) {
    const Result<FoundProcesses> found = find(request.place);
    if (!found.ok()) {
        error_message(ErrorCode::nothing_recorded, "%s.", found.status().message().c_str());
        return 1;
    }
    if (!request.is_json && LiveTerminal::is_possible() && is_any_running(found.value()))
        return show_live(request);
    KernelTimer timer(false);
    timer.add(found.value().processes, true);
    const KernelTimes times = timer.times();
    if (times.overwritten != 0) {
        message(Severity::warn,
                "the flight recorder ring overwrote %" PRIu64
                " older calls. The counts and times are those of the newest calls. Record with --level 2, or "
                "with a larger --ring.",
                times.overwritten);
    }
    if (request.is_json) return print(top_json(times, request.limit));
    if (times.kernels.empty()) {
        error_message(ErrorCode::no_match, "%s has no calls of a model. Record with --level 2 or 3.",
                      found.value().folder.c_str());
        return 1;
    }
    return print(top_table(times, request.limit, LiveTerminal::is_possible() ? LiveTerminal::columns() : 0));
}

}  // namespace aoti_dbg::cli

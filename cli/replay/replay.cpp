#include "cli/replay/replay.hpp"

#include <algorithm>
#include <vector>

#include "base/message.hpp"
#include "cli/print.hpp"
#include "cli/replay/fault_dump.hpp"
#include "cli/replay/minimize.hpp"
#include "cli/replay/missing_inputs.hpp"
#include "cli/replay/outcomes.hpp"
#include "cli/replay/python_script.hpp"
#include "cli/replay/replay_children.hpp"
#include "cli/replay/replays.hpp"
#include "cli/replay/selected_launches.hpp"

namespace aoti_dbg::cli {
namespace {

bool print_result(const LaunchResult& result) {
    if (result.outcome != ReplayOutcome::trouble) return print(result.text) == 0;
    report_trouble(result.text);
    return true;
}

/// Prints an error if an option that takes one call gets several.
bool is_one_call(const std::vector<LaunchFile>& files, const char* option) {
    constexpr std::size_t kMostListed = 10;
    if (files.size() == 1) return true;
    std::string list;
    for (std::size_t i = 0; i < std::min(files.size(), kMostListed); ++i)
        list += (i == 0 ? "" : "; ") + place_of(files[i].launch);
    if (files.size() > kMostListed) list += "; ...";
    error_message(ErrorCode::wrong_usage,
                  "%s takes one call, and %zu are selected. Select one with --runs and --calls: %s.", option,
                  files.size(), list.c_str());
    return false;
}

/// Writes the script of the one selected call.
int write_python(const std::vector<LaunchFile>& files, const std::string& path) {
    if (const Status written = write_script(files.front(), path); !written.ok()) {
        std::string why = written.message();
        if (why.ends_with('.')) why.pop_back();
        return report_trouble("cannot write a script for " + place_of(files.front().launch) + ": " + why);
    }
    return print(path + " repeats " + place_of(files.front().launch) + "\n") == 0 ? 0 : kReplayTrouble;
}

/// Names the ops, which only their scripts repeat, and removes them. Returns false if nothing else is left.
bool name_ops(std::vector<LaunchFile>& files) {
    std::string text;
    for (const LaunchFile& file : files)
        if (file.launch.kind == LaunchKind::op)
            text += place_of(file.launch) + ": an op; write its script with --python\n";
    std::erase_if(files, [](const LaunchFile& file) { return file.launch.kind == LaunchKind::op; });
    if (!text.empty()) print(text);
    return !files.empty();
}

}  // namespace

int report_trouble(const std::string& why) {
    error_message(ErrorCode::command_failed, "%s.", why.c_str());
    return kReplayTrouble;
}

int replay(const ReplayRequest& request) {
    std::optional<std::vector<LaunchFile>> files =
        selected_launches(request.place, request.runs, request.calls);
    if (!files) return kReplayTrouble;
    if (!request.python.empty())
        return is_one_call(*files, "--python") ? write_python(*files, request.python) : kReplayTrouble;
    if (!request.minimize.empty() && !is_one_call(*files, "--minimize")) return kReplayTrouble;
    if (!name_ops(*files)) return kReplayTrouble;
    const std::string missing = remove_without_inputs(*files);
    const int least = missing.empty() ? kReplayEqual : report_trouble(missing);
    if (files->empty()) return least;
    if (!request.minimize.empty()) return minimize(request, files->front());
    // Tools that watch this process need not follow its children.
    if (is_watched()) {
        ReplayProgress progress;
        return std::max(least, replay_here(request, *files, print_result, progress));
    }
    const Result<int> code = replay_in_children(request, *files,
                                                {print_result,
                                                 [&request](const LaunchFile& file, std::uint32_t pass) {
                                                     return describe_fault(request, file, pass);
                                                 },
                                                 {}});
    return code.ok() ? std::max(least, code.value()) : report_trouble(code.status().message());
}

}  // namespace aoti_dbg::cli

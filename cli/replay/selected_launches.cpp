#include "cli/replay/selected_launches.hpp"

#include <tuple>

#include "base/message.hpp"
#include "cli/bundle/bundle_files.hpp"
#include "cli/tensor_files.hpp"
#include "cli/usage_errors.hpp"

namespace aoti_dbg::cli {
namespace {

/// Opens each file that the launches name, which verifies its checksum. Without this, a damaged tensor of a
/// bundle would count as one that was not saved.
Status check_members(const std::vector<LaunchFile>& launches) {
    TensorFiles tensors(launches.front().events, launches.front().files);
    if (Status index = tensors.read_index(); !index.ok()) return index;
    for (const LaunchFile& file : launches) {
        std::vector<std::string> paths = files_beside(file);
        std::vector<LaunchTensor> all = created_tensors(file.launch);
        all.insert(all.end(), file.launch.tensors.begin(), file.launch.tensors.end());
        for (const LaunchTensor& tensor : all)
            for (const EventSide side : {EventSide::before, EventSide::after})
                if (const auto saved = tensors.saved_at(
                        {side, file.launch.run, file.launch.call, tensor.position, tensor.label}))
                    paths.push_back(saved->file);
        for (const std::string& path : paths)
            if (const Result<FileContents> opened = file.files->open(path); !opened.ok())
                return opened.status();
    }
    return {};
}

}  // namespace

Status parse_selection(const std::string& runs_text, const std::string& calls_text, Window& runs,
                       Window& calls) {
    for (const auto& [text, window, flag] :
         {std::tuple(&runs_text, &runs, "--runs"), std::tuple(&calls_text, &calls, "--calls")}) {
        if (text->empty()) continue;
        const Result<Window> parsed = parse_window(*text);
        if (!parsed.ok())
            return Status::error(wrong_value(flag, *text, "a number or a Python slice (begin:end:step)", {}));
        *window = parsed.value();
    }
    return {};
}

std::optional<std::vector<LaunchFile>> selected_launches(const std::string& place, const Window& runs,
                                                         const Window& calls) {
    Result<std::vector<LaunchFile>> files = launches_of(place);
    if (!files.ok()) {
        error_message(ErrorCode::nothing_recorded, "%s.", files.status().message().c_str());
        return std::nullopt;
    }
    if (const std::vector<std::string> folders = launch_folders(place); folders.size() > 1)
        message(Severity::info, "reading %s. Other folders with captured launches here: %zu.",
                folders.front().c_str(), folders.size() - 1);
    std::erase_if(files.value(), [&](const LaunchFile& file) {
        return !runs.holds(file.launch.run) || !calls.holds(file.launch.call);
    });
    if (files.value().empty()) {
        error_message(ErrorCode::no_match, "no captured launch in %s is selected. Change --runs or --calls.",
                      place.c_str());
        return std::nullopt;
    }
    if (const Status checked = is_bundle(place) ? check_members(files.value()) : Status(); !checked.ok()) {
        error_message(ErrorCode::unreadable_recording, "%s.", checked.message().c_str());
        return std::nullopt;
    }
    return std::move(files.value());
}

}  // namespace aoti_dbg::cli

#include "cli/process_files.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "cli/folder_walk.hpp"
#include "cli/recorded_file.hpp"
#include "serializer/event_fields.hpp"
#include "serializer/flight_ring_format.hpp"
#include "serializer/json_line.hpp"
#include "serializer/line_source.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

struct FileKind {
    std::string_view start;
    std::string_view end;
    std::string ProcessFiles::*path;
};

constexpr FileKind kKinds[] = {{"events", ".jsonl", &ProcessFiles::events},
                               {"flight", ".ring", &ProcessFiles::ring},
                               {"timeline", ".jsonl", &ProcessFiles::timeline}};

/// Later processes with the same number have files like events-42.jsonl.2.
std::string_view without_number(std::string_view name) {
    const std::size_t end = name.find_last_not_of("0123456789");
    const bool has_number = end != std::string_view::npos && end + 1 < name.size() && name[end] == '.';
    return has_number ? name.substr(0, end) : name;
}

const FileKind* kind_of(const std::string& name) {
    for (const FileKind& kind : kKinds)
        if (name.starts_with(kind.start) && without_number(name).ends_with(kind.end)) return &kind;
    return nullptr;
}

/// Returns the process that wrote the file, or 0.
std::uint64_t pid_of(const std::string& path, const FileKind& kind) {
    RecordedFile file(path.c_str());
    if (kind.path == &ProcessFiles::ring) {
        ring::FileHeader header{};
        const std::size_t got = file.read(reinterpret_cast<char*>(&header), sizeof header);
        return got == sizeof header && header.magic == ring::kMagic ? header.pid : 0;
    }
    // The header is short. Reading only the start keeps this fast for large files.
    bool is_read = false;
    LineSource lines([&](char* to, std::size_t bytes) {
        return std::exchange(is_read, true) ? 0 : file.read(to, std::min<std::size_t>(bytes, 1U << 16U));
    });
    std::string_view line;
    JsonLine json;
    std::uint64_t pid = 0;
    if (lines.next(line) && json.parse(line)) read_integer(json.root().member("pid"), pid);
    return pid;
}

void take(const fs::path& path, const FileKind& kind, std::vector<ProcessFiles>& processes) {
    const std::string folder = path.parent_path().string();
    const std::uint64_t pid = pid_of(path.string(), kind);
    auto process = std::ranges::find_if(processes, [&](const ProcessFiles& known) {
        return known.folder == folder && known.pid == pid && (known.*kind.path).empty();
    });
    if (process == processes.end()) process = processes.insert(process, {folder, pid, {}, {}, {}});
    (*process).*kind.path = path.string();
}

bool has_own_files(const fs::path& folder) {
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
        if (kind_of(entry->path().filename().string()) != nullptr) return true;
    return false;
}

}  // namespace

std::vector<ProcessFiles> processes_below(const std::string& folder) {
    std::vector<fs::path> paths;
    walk_folder(folder, [&](const fs::directory_entry& entry) {
        std::error_code unreadable;
        if (!entry.is_symlink(unreadable) && entry.is_regular_file(unreadable) &&
            kind_of(entry.path().filename().string()) != nullptr)
            paths.push_back(entry.path());
        return true;
    });
    std::ranges::sort(paths);
    std::vector<ProcessFiles> processes;
    for (const fs::path& path : paths)
        take(path, *kind_of(path.filename().string()), processes);
    return processes;
}

Result<FoundProcesses> find_processes(const std::string& place) {
    std::error_code failed;
    const fs::file_status status = fs::status(place, failed);
    if (!fs::exists(status))
        return Status::error("cannot open " + place +
                             ": no such file or directory. Pass an output directory (AOTI_DBG_OUT)");
    FoundProcesses found{place, {}};
    if (!fs::is_directory(status)) {
        const fs::path path(place);
        const FileKind* const kind = kind_of(path.filename().string());
        if (kind == nullptr)
            return Status::error("cannot read " + place +
                                 ": expected an events.jsonl or an output directory");
        found.folder = path.has_parent_path() ? path.parent_path().string() : ".";
        const std::uint64_t pid = pid_of(place, *kind);
        for (ProcessFiles& process : processes_below(found.folder))
            if (process.pid == pid &&
                process.*kind->path == (fs::path(found.folder) / path.filename()).string())
                found.processes.push_back(std::move(process));
        if (found.processes.empty()) {
            ProcessFiles& process = found.processes.emplace_back();
            process.pid = pid;
            process.*kind->path = place;
        }
        return found;
    }
    const fs::path latest = fs::path(place) / "latest";
    if (!has_own_files(place) && fs::is_directory(latest, failed)) {
        const fs::path target = fs::canonical(latest, failed);
        found.folder = failed ? latest.string() : target.string();
    }
    found.processes = processes_below(found.folder);
    if (found.processes.empty())
        return Status::error("nothing is recorded in " + place +
                             " or below it. Run the program with --level 2 or 3, and check that it calls a "
                             "model");
    return found;
}

}  // namespace aoti_dbg::cli

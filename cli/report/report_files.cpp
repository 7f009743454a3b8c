// See report_files.hpp.
#include "cli/report/report_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/descriptor.hpp"
#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "cli/new_file.hpp"
#include "triage/render/report_json.hpp"

namespace aoti_dbg::cli {
namespace {

/// Creates each directory with mode 0700 by default: tensors are user data, and so are the reports about
/// them.
Status make_folders(const std::string& path, mode_t mode = 0700) {
    for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
        const std::string part = path.substr(0, slash);
        if (mkdir(part.c_str(), mode) != 0) {
            const int why = errno;
            struct stat info {};
            if (stat(part.c_str(), &info) != 0) return file_failure("cannot create directory", part, why);
        }
        if (slash == std::string::npos) return {};
    }
}

}  // namespace

Status can_be_made(const std::string& file) {
    namespace fs = std::filesystem;
    std::error_code failed;
    fs::path folder = fs::absolute(file, failed).parent_path();
    if (failed) return Status::error("cannot find the working directory", failed.value());
    while (folder.has_relative_path() && !fs::exists(fs::symlink_status(folder, failed)))
        folder = folder.parent_path();
    if (!fs::is_directory(folder, failed)) return file_failure("cannot use", folder.string(), ENOTDIR);
    if (access(folder.c_str(), W_OK | X_OK) != 0)
        return file_failure("cannot write to directory", folder.string(), errno);
    return {};
}

Result<std::string> write_new_file(const std::string& folder, const std::string& stem,
                                   const std::string& ending, const std::string& text, mode_t mode) {
    NewFile file(folder + "/" + stem + ending, true, mode);
    if (Status opened = file.open(); !opened.ok()) return opened;
    if (Status written = file.write(text); !written.ok()) return written;
    return file.finish();
}

Result<std::string> write_for_others(const std::string& path, const std::string& text) {
    const std::filesystem::path file(path);
    const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
    if (Status made = make_folders(folder, 0777); !made.ok()) return made;
    return write_new_file(folder, file.stem().string(), file.extension().string(), text, 0666);
}

Result<std::string> write_report(const Report& report, const std::string& text, const std::string& folder) {
    if (Status made = make_folders(folder); !made.ok()) return made;
    std::string stem = "report";
    std::error_code failed;
    for (const char* name : {"/report.json", "/report.txt"}) {
        if (std::filesystem::exists(std::filesystem::symlink_status(folder + name, failed)))
            stem = "report-" + std::to_string(report.evidence.end.pid);
    }
    Result<std::string> path = write_new_file(folder, stem, ".json", report_json(report));
    if (!path.ok()) return path;
    // Both files share a stem, whatever number it got.
    const std::string own_stem = std::filesystem::path(path.value()).stem().string();
    Result<std::string> screen = write_new_file(folder, own_stem, ".txt", text);
    if (!screen.ok())
        message(Severity::warn, "%s. Only %s was written.", screen.status().message().c_str(),
                path.value().c_str());
    return path;
}

Status append_verdict(const Report& report, const std::string& report_path, const std::string& file) {
    const std::string line = verdict_line(report, report_path);
    // O_NONBLOCK: a pipe without a reader must not block the command.
    const Descriptor to(
        open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644));
    if (to.number() < 0) return file_failure("cannot open", file, errno);
    const int error = write_fully(to.number(), line.data(), line.size());
    return error == 0 ? Status() : file_failure("cannot write", file, error);
}

}  // namespace aoti_dbg::cli

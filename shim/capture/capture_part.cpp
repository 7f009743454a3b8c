#include "shim/capture/capture_part.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/file_failure.hpp"
#include "base/fnv.hpp"
#include "base/message.hpp"
#include "serializer/launch_name.hpp"
#include "serializer/number_text.hpp"
#include "shim/calls/coverage_line.hpp"
#include "shim/calls/session.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kMostLaunches = 1000;     // of one run, if runs are removed
constexpr std::size_t kMostOfAllRuns = 10'000;  // on disk at once, if runs are removed

/// The file appears under its name only when it is whole.
Status write_new(const std::string& path, const char* bytes, std::size_t count) {
    const std::string part = path + ".part";
    {
        const Descriptor file(open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (file.number() < 0) return file_failure("cannot create", part, errno);
        if (const int error = write_fully(file.number(), bytes, count); error != 0) {
            unlink(part.c_str());
            return file_failure("cannot write", part, error);
        }
    }
    return rename(part.c_str(), path.c_str()) == 0 ? Status() : file_failure("cannot create", path, errno);
}

std::string image_name(std::uint64_t hash) {
    std::string name;
    append_hex(hash, name);
    return name + ".image";
}

}  // namespace

void CapturePart::add(LaunchRecord& launch, const Image& image) {
    // Ask without the lock: the keeper has its own, and its threads remove files with ours.
    if (keeper_ != nullptr && !keeper_->begin_run_file(launch.run)) return;
    add_if_possible(launch, image);
    if (keeper_ != nullptr) keeper_->end_run_file(launch.run);
}

void CapturePart::add_if_possible(LaunchRecord& launch, const Image& image) {
    const std::lock_guard lock(mutex_);
    if (has_ended_ || !has_room(launch.run)) return;
    const Status written = write(launch, image);
    if (written.ok()) return;
    has_ended_ = true;
    message(Severity::warn, "%s. No more launches are captured. %s", written.message().c_str(),
            remedy_for(written, "AOTI_DBG_OUT", PlaceKind::directory).c_str());
}

/// Requires mutex_.
bool CapturePart::has_room(std::uint32_t run) {
    // While tensors of ended runs wait to be written, their launches are on disk, too.
    const bool is_run_full = keeper_ != nullptr && files_.launches_of(run) >= kMostLaunches;
    const std::size_t most = keeper_ == nullptr ? kMostLaunches : kMostOfAllRuns;
    if (!is_run_full && files_.launches() < most) return true;
    if (has_said_) return false;
    has_said_ = true;
    if (is_run_full) {
        message(Severity::warn,
                "%zu launches of run %u are captured, the limit for one run. Its later launches are not "
                "captured. Select fewer with --calls.",
                kMostLaunches, run);
    } else {
        message(Severity::warn, "%zu launches are captured. %s Select fewer with --runs or --calls.", most,
                keeper_ == nullptr ? "No more are captured."
                                   : "More are captured once older ones are removed with their runs.");
    }
    return false;
}

std::string CapturePart::file_of(std::uint32_t run, std::uint32_t call) {
    const std::lock_guard lock(mutex_);
    return files_.has_launch(run, call) ? folder_ + "/" + launch_name(run, call) : std::string();
}

void CapturePart::remove_run(std::uint32_t run) {
    const std::lock_guard lock(mutex_);
    const CapturedFiles::Removed removed = files_.remove_run(run);
    for (const std::uint32_t call : removed.calls)
        unlink((folder_ + "/" + launch_name(run, call)).c_str());
    for (const std::uint64_t image : removed.images)
        remove_image(image);
    removed_.fetch_add(removed.calls.size(), std::memory_order_relaxed);
    on_disk_.store(files_.launches(), std::memory_order_relaxed);
}

void CapturePart::remove_image(std::uint64_t hash) {
    unlink((folder_ + "/" + image_name(hash)).c_str());
}

/// The folder of an earlier process stays as it is.
Status CapturePart::create_folder() {
    if (mkdir(folder_.c_str(), 0700) == 0) return {};
    if (errno != EEXIST) return file_failure("cannot create", folder_, errno);
    folder_ += "-" + std::to_string(getpid());
    return mkdir(folder_.c_str(), 0700) == 0 ? Status() : file_failure("cannot create", folder_, errno);
}

Status CapturePart::write(LaunchRecord& launch, const Image& image) {
    if (!has_folder_.load(std::memory_order_relaxed)) {
        if (Status failed = create_folder(); !failed.ok()) return failed;
        has_folder_.store(true, std::memory_order_relaxed);
    }
    if (image != nullptr)
        if (Status failed = write_image(launch, image); !failed.ok()) return failed;
    const std::string text = render_launch(launch);
    Status written =
        write_new(folder_ + "/" + launch_name(launch.run, launch.call), text.data(), text.size());
    if (!written.ok()) return written;
    for (const std::uint64_t unneeded : files_.add(launch.run, launch.call, launch.image_hash))
        remove_image(unneeded);
    on_disk_.store(files_.launches(), std::memory_order_relaxed);
    return {};
}

Status CapturePart::write_image(LaunchRecord& launch, const Image& image) {
    const std::string_view bytes(reinterpret_cast<const char*>(image->data()), image->size());
    launch.image_hash = fnv1a(bytes);
    launch.image = image_name(launch.image_hash);
    if (files_.has_image(launch.image_hash)) return {};
    return write_new(folder_ + "/" + launch.image, bytes.data(), bytes.size());
}

/// Saving has finished before, and has removed what goes.
void CapturePart::finish() {
    if (has_folder_.load(std::memory_order_relaxed) && !has_files()) rmdir(folder_.c_str());
}

void CapturePart::append_coverage(CoverageLine& line) const {
    const std::uint64_t removed = removed_.load(std::memory_order_relaxed);
    line.count("; ", on_disk_.load(std::memory_order_relaxed), "launch captured", "launches captured");
    line.rest(removed, "removed with their runs");
    if (has_files()) line.file("launches", folder_.c_str());
}

void start_capture(Session& session) {
    if (!options().captures) return;
    if (session.folder().empty()) {
        message(Severity::warn,
                "there is no output directory. No launches are captured. Set AOTI_DBG_OUT to a "
                "writable directory.");
        return;
    }
    session.add(std::make_unique<CapturePart>(session.folder()));
}

}  // namespace aoti_dbg

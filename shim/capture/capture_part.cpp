#include "shim/capture/capture_part.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/file_failure.hpp"
#include "base/fnv.hpp"
#include "base/message.hpp"
#include "serializer/number_text.hpp"
#include "shim/calls/coverage_line.hpp"
#include "shim/calls/session.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

constexpr std::uint64_t kMostLaunches = 1000;

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

}  // namespace

void CapturePart::add(LaunchRecord& launch, const Image& image) {
    const std::lock_guard lock(mutex_);
    if (has_ended_) return;
    if (launches_.size() == kMostLaunches) {
        has_ended_ = true;
        return message(
            Severity::warn,
            "%llu launches are captured. No more are captured. Select fewer with --runs or --calls.",
            static_cast<unsigned long long>(kMostLaunches));
    }
    const Status written = write(launch, image);
    if (written.ok()) return;
    has_ended_ = true;
    message(Severity::warn, "%s. No more launches are captured. %s", written.message().c_str(),
            remedy_for(written, "AOTI_DBG_OUT", PlaceKind::directory).c_str());
}

/// The folder of an earlier process stays as it is.
Status CapturePart::create_folder() {
    if (mkdir(folder_.c_str(), 0700) == 0) return {};
    if (errno != EEXIST) return file_failure("cannot create", folder_, errno);
    folder_ += "-" + std::to_string(getpid());
    return mkdir(folder_.c_str(), 0700) == 0 ? Status() : file_failure("cannot create", folder_, errno);
}

Status CapturePart::write(LaunchRecord& launch, const Image& image) {
    if (launches_.empty())
        if (Status failed = create_folder(); !failed.ok()) return failed;
    launches_.emplace(launch.run, launch.call);
    if (image != nullptr)
        if (Status failed = write_image(launch, image); !failed.ok()) return failed;
    char name[64];
    std::snprintf(name, sizeof name, "/run%04u-call%04u.json", launch.run, launch.call);
    const std::string text = render_launch(launch);
    return write_new(folder_ + name, text.data(), text.size());
}

Status CapturePart::write_image(LaunchRecord& launch, const Image& image) {
    const std::string_view bytes(reinterpret_cast<const char*>(image->data()), image->size());
    launch.image_hash = fnv1a(bytes);
    append_hex(launch.image_hash, launch.image);
    launch.image += ".image";
    if (images_.count(launch.image_hash) != 0) return {};
    Status written = write_new(folder_ + "/" + launch.image, bytes.data(), bytes.size());
    if (written.ok()) images_.insert(launch.image_hash);
    return written;
}

void CapturePart::append_coverage(CoverageLine& line) const {
    if (launches_.empty()) return;
    line.count("; ", launches_.size(), "launch captured", "launches captured");
    line.file("launches", folder_.c_str());
}

void start_capture(Session& session) {
    if (options().captures) session.add(std::make_unique<CapturePart>(session.folder()));
}

}  // namespace aoti_dbg

#include "shim/record/driver_log_file.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "shim/record/mapped_entry.hpp"
#include "shim/runtime/clock.hpp"

namespace aoti_dbg {

using driver_log::Line;

DriverLogFile::DriverLogFile(PreallocatedFile file, char* mapped) : file_(std::move(file)), mapped_(mapped) {}

driver_log::FileHeader& DriverLogFile::header() const {
    return *reinterpret_cast<driver_log::FileHeader*>(mapped_);
}

Line& DriverLogFile::line(std::size_t place) const {
    return reinterpret_cast<Line*>(mapped_ + driver_log::kPage)[place];
}

Result<std::unique_ptr<DriverLogFile>> DriverLogFile::create(const std::string& path) {
    char* mapped = nullptr;
    constexpr std::size_t kLines = driver_log::kFirst + driver_log::kLast;
    Result<PreallocatedFile> file =
        PreallocatedFile::create(path, whole_pages(driver_log::kPage + kLines * sizeof(Line)), mapped);
    if (!file.ok()) return file.status();
    auto& header = *reinterpret_cast<driver_log::FileHeader*>(mapped);
    header.version = driver_log::kVersion;
    header.line_bytes = sizeof(Line);
    header.pid = static_cast<std::uint32_t>(getpid());
    header.first = driver_log::kFirst;
    header.last = driver_log::kLast;
    publish(header.magic, driver_log::kMagic);
    return std::unique_ptr<DriverLogFile>(new DriverLogFile(std::move(file.value()), mapped));
}

void DriverLogFile::add(driver_log::Level level, const char* text, std::size_t bytes) {
    const std::uint64_t number = __atomic_add_fetch(&header().logged, 1, __ATOMIC_RELAXED);
    const std::size_t place = driver_log::place_of(number);
    Line& to = line(place);
    // A thread that was stopped in here for 48 lines must not overwrite a later one.
    const bool is_free = !is_busy_[place].test_and_set(std::memory_order_acquire);
    if (is_free && to.number < number) {
        Line entry{};
        entry.ticks = ticks();
        entry.unix_ns = unix_nanoseconds();
        entry.thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
        entry.level = level;
        entry.bytes = static_cast<std::uint32_t>(std::min<std::size_t>(bytes, UINT32_MAX));
        memcpy(entry.text, text, std::min(bytes, sizeof entry.text));
        write_entry(to, entry, number);
    } else {
        __atomic_fetch_add(&header().lost, 1, __ATOMIC_RELAXED);
    }
    if (is_free) is_busy_[place].clear(std::memory_order_release);
}

void DriverLogFile::remove_if_empty() {
    if (__atomic_load_n(&header().logged, __ATOMIC_RELAXED) == 0) unlink(file_.path().c_str());
}

}  // namespace aoti_dbg

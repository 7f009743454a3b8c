#include "shim/record/preallocated_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/file_failure.hpp"
#include "shim/record/written_bytes.hpp"

namespace aoti_dbg {
namespace {

int write_at(int descriptor, std::size_t from, const char* data, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes;) {
        const ssize_t written =
            pwrite(descriptor, data + done, bytes - done, static_cast<off_t>(from + done));
        if (written > 0) {
            done += static_cast<std::size_t>(written);
        } else if (written == 0 || errno != EINTR) {
            return written == 0 ? ENOSPC : errno;
        }
    }
    return 0;
}

/// Writes the fill instead of setting it through the mapping. A page in the page cache costs a sixth of one
/// that the mapping touches first.
int append_filled(int descriptor, std::size_t from, std::size_t bytes, char fill) {
    char block[16 * 1024];
    memset(block, fill, sizeof block);
    int error = 0;
    for (std::size_t done = 0; done < bytes && error == 0; done += sizeof block)
        error = write_at(descriptor, from + done, block, std::min(sizeof block, bytes - done));
    return error;
}

}  // namespace

Result<PreallocatedFile> PreallocatedFile::create(const std::string& path) {
    constexpr int kFlags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    std::string name = path;
    int descriptor = open(name.c_str(), kFlags, 0600);
    for (int number = 2; descriptor < 0 && errno == EEXIST && number < 100000; ++number) {
        name = path + "." + std::to_string(number);
        descriptor = open(name.c_str(), kFlags, 0600);
    }
    if (descriptor < 0) return file_failure("cannot create", path, errno);
    struct stat info {};
    PreallocatedFile file;
    const bool known = fstat(descriptor, &info) == 0;
    const int error = errno;
    close(descriptor);
    if (!known) return file_failure("cannot inspect", path, error);
    file.path_ = name;
    file.device_ = info.st_dev;
    file.inode_ = info.st_ino;
    return file;
}

Result<PreallocatedFile> PreallocatedFile::create(const std::string& path, std::size_t bytes, char*& mapped) {
    Result<PreallocatedFile> file = create(path);
    if (!file.ok()) return file;
    const Result<char*> part = file.value().extend(bytes);
    if (!part.ok()) {
        unlink(file.value().path().c_str());
        return part.status();
    }
    mapped = part.value();
    return file;
}

int PreallocatedFile::reopen() const {
    const int descriptor = open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) return -1;
    struct stat info {};
    if (fstat(descriptor, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_) return descriptor;
    close(descriptor);
    errno = ESTALE;
    return -1;
}

Result<int> PreallocatedFile::open_to_extend(std::size_t bytes) const {
    // Beyond this limit the kernel would send SIGXFSZ, which terminates a program.
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        size_ + bytes > limit.rlim_cur) {
        return file_failure("cannot extend", path_, EFBIG);
    }
    const int descriptor = reopen();
    if (descriptor < 0) return file_failure("cannot reopen", path_, errno);
    return descriptor;
}

Status PreallocatedFile::append(const char* data, std::size_t bytes) {
    const Result<int> opened = open_to_extend(bytes);
    if (!opened.ok()) return opened.status();
    const int descriptor = opened.value();
    int error = write_at(descriptor, size_, data, bytes);
    if (error != 0 && ftruncate(descriptor, static_cast<off_t>(size_)) != 0) error = errno;
    close(descriptor);
    if (error != 0) return file_failure("cannot extend", path_, error);
    size_ += bytes;
    count_written_bytes(static_cast<std::int64_t>(bytes));
    return {};
}

Result<char*> PreallocatedFile::extend(std::size_t bytes, char fill) {
    const Result<int> opened = open_to_extend(bytes);
    if (!opened.ok()) return opened.status();
    const int descriptor = opened.value();
    int error = fill != '\0'
                    ? append_filled(descriptor, size_, bytes, fill)
                    : posix_fallocate(descriptor, static_cast<off_t>(size_), static_cast<off_t>(bytes));
    const std::size_t lead = size_ % kPageBytes;  // a mapping starts at a page boundary
    void* mapped = MAP_FAILED;
    if (error == 0) {
        const int flags = MAP_SHARED | (fill != '\0' ? MAP_POPULATE : 0);
        mapped = mmap(nullptr, lead + bytes, PROT_READ | PROT_WRITE, flags, descriptor,
                      static_cast<off_t>(size_ - lead));
        if (mapped == MAP_FAILED) error = errno;
    }
    // A failed extension must not leave unused blocks behind.
    if (error != 0 && ftruncate(descriptor, static_cast<off_t>(size_)) != 0) error = errno;
    close(descriptor);
    if (error != 0) return file_failure("cannot extend", path_, error);
    madvise(mapped, lead + bytes, MADV_DONTFORK);
    size_ += bytes;
    count_written_bytes(static_cast<std::int64_t>(bytes));
    return static_cast<char*>(mapped) + lead;
}

void PreallocatedFile::unmap(char* part, std::size_t bytes) {
    const std::size_t lead = reinterpret_cast<std::uintptr_t>(part) % kPageBytes;
    munmap(part - lead, lead + bytes);
}

Status PreallocatedFile::truncate(std::size_t size) {
    const int descriptor = reopen();
    if (descriptor < 0) return file_failure("cannot reopen", path_, errno);
    const int error = ftruncate(descriptor, static_cast<off_t>(size)) == 0 ? 0 : errno;
    close(descriptor);
    if (error != 0) return file_failure("cannot truncate", path_, error);
    count_written_bytes(static_cast<std::int64_t>(size) - static_cast<std::int64_t>(size_));
    size_ = size;
    return {};
}

}  // namespace aoti_dbg

// See mapped_file.hpp.
#include "base/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/descriptor.hpp"
#include "base/file_failure.hpp"

namespace aoti_dbg {

Result<MappedFile> MappedFile::open(const std::string& path) {
    // With O_NONBLOCK, a named pipe cannot block the open. The driver can write dumps into one.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (file.number() < 0) return file_failure("cannot open", path, errno);
    struct stat info {};
    if (fstat(file.number(), &info) != 0) return file_failure("cannot read", path, errno);
    if (!S_ISREG(info.st_mode))
        return Status::error("cannot read " + path + ": not a regular file. Copy it to a regular file first");
    const auto bytes = static_cast<std::size_t>(info.st_size);
    if (bytes == 0) return MappedFile(std::span<const std::byte>());
    void* const memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (memory == MAP_FAILED) return file_failure("cannot read", path, errno);
    return MappedFile({static_cast<const std::byte*>(memory), bytes});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace aoti_dbg

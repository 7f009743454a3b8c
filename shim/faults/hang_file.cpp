#include "shim/faults/hang_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/descriptor.hpp"
#include "base/file_failure.hpp"
#include "base/message.hpp"

namespace aoti_dbg {

Status HangFile::write(const Hang& hang) const {
    std::string text;
    append_hang_json(hang, text);
    const std::string unfinished = path_ + ".unfinished";
    {
        const Descriptor file(open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        if (file.number() < 0) return file_failure("cannot create", unfinished, errno);
        if (const int error = write_fully(file.number(), text.data(), text.size()); error != 0) {
            unlink(unfinished.c_str());
            return file_failure("cannot write", unfinished, error);
        }
    }
    if (rename(unfinished.c_str(), path_.c_str()) == 0) return {};
    const int error = errno;
    unlink(unfinished.c_str());
    return file_failure("cannot create", path_, error);
}

void HangFile::remove() const {
    unlink(path_.c_str());
}

}  // namespace aoti_dbg

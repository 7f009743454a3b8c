#include "shim/report/hang_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/descriptor.hpp"
#include "base/message.hpp"

namespace aoti_dbg {
namespace {

Status failed(const std::string& what, const std::string& path, int error) {
    return Status::error(what + " " + path + ": " + std::strerror(error));
}

}  // namespace

Status HangFile::write(const Hang& hang) const {
    std::string text;
    append_hang_json(hang, text);
    const std::string unfinished = path_ + ".unfinished";
    {
        const Descriptor file(open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        if (file.number() < 0) return failed("cannot make", unfinished, errno);
        if (!write_quietly(file.number(), text.data(), text.size())) {
            unlink(unfinished.c_str());
            return Status::error("cannot write all of " + unfinished);
        }
    }
    if (rename(unfinished.c_str(), path_.c_str()) == 0) return {};
    const int error = errno;
    unlink(unfinished.c_str());
    return failed("cannot make", path_, error);
}

void HangFile::remove() const {
    unlink(path_.c_str());
}

}  // namespace aoti_dbg

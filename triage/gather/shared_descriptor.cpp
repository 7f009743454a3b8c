// See shared_descriptor.hpp.
#include "triage/gather/shared_descriptor.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace aoti_dbg {

std::optional<std::string> path_for_others(int descriptor) {
    std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor);
    struct stat own {};
    struct stat named {};
    if (fstat(descriptor, &own) != 0 || stat(path.c_str(), &named) != 0) return std::nullopt;
    if (own.st_dev != named.st_dev || own.st_ino != named.st_ino) return std::nullopt;
    return path;
}

}  // namespace aoti_dbg

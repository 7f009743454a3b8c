#include "base/proc_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/descriptor.hpp"

namespace aoti_dbg {

std::string proc_text(const std::string& path, std::size_t most) {
    std::string text;
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.number() < 0) return text;
    char part[4096];
    while (text.size() < most) {
        const ssize_t got = read(file.number(), part, sizeof part);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        text.append(part, static_cast<std::size_t>(got));
    }
    return text;
}

std::string_view taken(std::string_view& text, char end) {
    const std::size_t length = std::min(text.find(end), text.size());
    const std::string_view part = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    return part;
}

bool hexadecimal(std::string_view text, std::uint64_t& number) {
    if (text.substr(0, 2) == "0x") text.remove_prefix(2);
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

}  // namespace aoti_dbg

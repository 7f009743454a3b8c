#include "shim/report/thread_place.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg {
namespace {

std::string text_of(const std::string& path) {
    std::string text;
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.number() < 0) return text;
    char part[4096];
    for (;;) {
        const ssize_t got = read(file.number(), part, sizeof part);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return text;
        text.append(part, static_cast<std::size_t>(got));
    }
}

/// Up to `end`, which goes as well.
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

/// "libc.so.6+0x98d61": by the map, since the loader's own tables are locked while it hangs.
std::string file_at(std::uint64_t address) {
    const std::string maps = text_of("/proc/self/maps");
    std::string_view rest = maps;
    while (!rest.empty()) {
        std::string_view line = taken(rest, '\n');
        std::string_view range = taken(line, ' ');
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        if (!hexadecimal(taken(range, '-'), begin) || !hexadecimal(range, end)) continue;
        if (address < begin || address >= end) continue;
        taken(line, ' ');  // what may be done there
        std::uint64_t offset = 0;
        if (!hexadecimal(taken(line, ' '), offset)) return {};
        const std::size_t path = line.find_first_of("/[");
        if (path == std::string_view::npos) return "memory without a file";
        line.remove_prefix(path);
        std::string text(line.substr(line.rfind('/') + 1));
        text += "+0x";
        append_short_hex(address - begin + offset, text);
        return text;
    }
    return {};
}

std::string word_of_state(char state) {
    switch (state) {
        case 'R':
            return "running";
        case 'S':
            return "sleeping";
        case 'D':
            return "in an uninterruptible wait";
        case 'T':
        case 't':
            return "stopped";
        default:
            return {};
    }
}

std::string state_in(std::string_view stat) {
    // "17 (any name) S ..."
    const std::size_t name_end = stat.rfind(") ");
    return name_end == std::string_view::npos || name_end + 2 >= stat.size()
               ? std::string()
               : word_of_state(stat[name_end + 2]);
}

}  // namespace

ThreadPlace place_of_thread(std::uint32_t tid) {
    const std::string folder = "/proc/self/task/" + std::to_string(tid) + "/";
    ThreadPlace place;
    const std::string name = text_of(folder + "comm");
    place.name = name.substr(0, name.find('\n'));
    place.state = state_in(text_of(folder + "stat"));
    place.wait_channel = text_of(folder + "wchan");
    if (place.wait_channel == "0") place.wait_channel.clear();
    // "202 0x.. (six arguments) SP PC", "-1 SP PC" or "running".
    std::string call = text_of(folder + "syscall");
    while (!call.empty() && call.back() == '\n')
        call.pop_back();
    if (call.empty() || call == "running") return place;
    std::string_view rest = call;
    const std::string_view number = taken(rest, ' ');
    if (number != "-1") place.system_call = number;
    std::uint64_t code = 0;
    if (hexadecimal(rest.substr(rest.rfind(' ') + 1), code)) place.code = file_at(code);
    return place;
}

}  // namespace aoti_dbg

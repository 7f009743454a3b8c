#include "shim/report/thread_place.hpp"

#include <cstddef>
#include <string>
#include <string_view>

#include "shim/report/memory_map.hpp"
#include "shim/report/proc_text.hpp"
#include "shim/report/thread_stack.hpp"

namespace aoti_dbg {
namespace {

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

ThreadPlace place_of_thread(std::uint32_t tid, std::uintptr_t stack) {
    const std::string folder = "/proc/self/task/" + std::to_string(tid) + "/";
    ThreadPlace place;
    const MemoryMap map = MemoryMap::of_this_process();
    place.callers = callers_above(stack, map);
    const std::string name = proc_text(folder + "comm");
    place.name = name.substr(0, name.find('\n'));
    place.state = state_in(proc_text(folder + "stat"));
    place.wait_channel = proc_text(folder + "wchan");
    if (place.wait_channel == "0") place.wait_channel.clear();
    // "202 0x.. (six arguments) SP PC", "-1 SP PC" or "running".
    std::string call = proc_text(folder + "syscall");
    while (!call.empty() && call.back() == '\n')
        call.pop_back();
    if (call.empty() || call == "running") return place;
    std::string_view rest = call;
    const std::string_view number = taken(rest, ' ');
    if (number != "-1") place.system_call = number;
    std::uint64_t code = 0;
    if (!hexadecimal(rest.substr(rest.rfind(' ') + 1), code)) return place;
    if (const Mapping* const file = map.find(code)) place.code = file->place_of(code, false);
    return place;
}

}  // namespace aoti_dbg

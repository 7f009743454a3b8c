#include "shim/faults/thread_place.hpp"

#include <cstddef>
#include <string>
#include <string_view>

#include "base/proc_text.hpp"
#include "shim/faults/memory_map.hpp"
#include "shim/faults/thread_stack.hpp"

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
    // The format is "17 (any name) S ...".
    const std::size_t name_end = stat.rfind(") ");
    return name_end == std::string_view::npos || name_end + 2 >= stat.size()
               ? std::string()
               : word_of_state(stat[name_end + 2]);
}

std::string folder_of(std::uint32_t tid) {
    return "/proc/self/task/" + std::to_string(tid) + "/";
}

/// Returns "202 0x.. (six arguments) SP PC" or "-1 SP PC". It is empty if the thread runs or the kernel does
/// not report it.
std::string system_call_of(std::uint32_t tid) {
    std::string call = proc_text(folder_of(tid) + "syscall");
    while (!call.empty() && call.back() == '\n')
        call.pop_back();
    return call == "running" ? std::string() : call;
}

/// Removes the last word of `text` and returns it.
std::string_view last_taken(std::string_view& text) {
    const std::size_t blank = text.rfind(' ');
    const std::string_view word = text.substr(blank == std::string_view::npos ? 0 : blank + 1);
    text = blank == std::string_view::npos ? std::string_view() : text.substr(0, blank);
    return word;
}

}  // namespace

ThreadPlace place_of_thread(std::uint32_t tid, std::uintptr_t stack) {
    const std::string folder = folder_of(tid);
    ThreadPlace place;
    const MemoryMap map = MemoryMap::of_this_process();
    place.callers = callers_above(stack, map);
    const std::string name = proc_text(folder + "comm");
    place.name = name.substr(0, name.find('\n'));
    place.state = state_in(proc_text(folder + "stat"));
    place.wait_channel = proc_text(folder + "wchan");
    if (place.wait_channel == "0") place.wait_channel.clear();
    const std::string call = system_call_of(tid);
    if (call.empty()) return place;
    std::string_view rest = call;
    const std::string_view number = taken(rest, ' ');
    if (number != "-1") place.system_call = number;
    std::uint64_t code = 0;
    if (!hexadecimal(last_taken(rest), code)) return place;
    if (const Mapping* const file = map.find(code)) place.code = file->place_of(code, false);
    return place;
}

std::uintptr_t stack_of_blocked(std::uint32_t tid) {
    const std::string call = system_call_of(tid);
    std::string_view rest = call;
    last_taken(rest);
    std::uint64_t stack = 0;
    return hexadecimal(last_taken(rest), stack) ? stack : 0;
}

}  // namespace aoti_dbg

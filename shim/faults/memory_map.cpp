#include "shim/faults/memory_map.hpp"

#include <algorithm>
#include <string_view>

#include "base/proc_text.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg {
namespace {

/// Parses "7f00-7f10 r-xp 00001000 08:01 77   /usr/lib/libc.so.6".
bool read_mapping(std::string_view line, Mapping& mapping) {
    std::string_view range = taken(line, ' ');
    if (!hexadecimal(taken(range, '-'), mapping.begin) || !hexadecimal(range, mapping.end)) return false;
    mapping.is_code = taken(line, ' ').find('x') != std::string_view::npos;
    if (!hexadecimal(taken(line, ' '), mapping.offset)) return false;
    const std::size_t path = line.find_first_of("/[");
    if (path != std::string_view::npos) mapping.path = line.substr(path);
    return true;
}

}  // namespace

std::string Mapping::place_of(std::uint64_t address, bool with_folder) const {
    if (path.empty()) return "anonymous memory";
    std::string text = with_folder ? path : path.substr(path.rfind('/') + 1);
    return text + "+" + hex_text(address - begin + offset);
}

MemoryMap MemoryMap::of_this_process() {
    MemoryMap map;
    const std::string maps = proc_text("/proc/self/maps");
    std::string_view rest = maps;
    while (!rest.empty()) {
        Mapping mapping;
        if (read_mapping(taken(rest, '\n'), mapping)) map.mappings_.push_back(std::move(mapping));
    }
    return map;
}

const Mapping* MemoryMap::find(std::uint64_t address) const {
    const auto after = std::upper_bound(
        mappings_.begin(), mappings_.end(), address,
        [](std::uint64_t requested, const Mapping& mapping) { return requested < mapping.end; });
    return after == mappings_.end() || address < after->begin ? nullptr : &*after;
}

}  // namespace aoti_dbg

#include "base/control_group.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/file_bytes.hpp"

namespace aoti_dbg {

std::vector<ControlGroup> memory_control_groups() {
    constexpr std::string_view kFirst = ":memory:";
    constexpr std::string_view kSecond = "0::";
    std::vector<ControlGroup> groups;
    std::string text(64 << 10, '\0');  // of a few dozen lines
    if (!read_fully(open_to_read("/proc/self/cgroup").number(), text)) return groups;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string line(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.starts_with("0::/"))
            groups.push_back({false, "/sys/fs/cgroup", line.substr(kSecond.size())});
        else if (const std::size_t at = line.find(":memory:/"); at != std::string::npos)
            groups.push_back({true, "/sys/fs/cgroup/memory", line.substr(at + kFirst.size())});
    }
    return groups;
}

}  // namespace aoti_dbg

#include "base/control_group.hpp"

#include <string>
#include <string_view>

#include "base/proc_text.hpp"

namespace aoti_dbg {

std::vector<ControlGroup> memory_control_groups() {
    constexpr std::string_view kFirst = ":memory:";
    constexpr std::string_view kSecond = "0::";
    std::vector<ControlGroup> groups;
    const std::string text = proc_text("/proc/self/cgroup");
    for (std::string_view rest = text; !rest.empty();) {
        const std::string line(taken(rest, '\n'));
        if (line.starts_with("0::/"))
            groups.push_back({false, "/sys/fs/cgroup", line.substr(kSecond.size())});
        else if (const std::size_t at = line.find(":memory:/"); at != std::string::npos)
            groups.push_back({true, "/sys/fs/cgroup/memory", line.substr(at + kFirst.size())});
    }
    return groups;
}

}  // namespace aoti_dbg

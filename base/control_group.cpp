#include "base/control_group.hpp"

#include <fstream>
#include <string_view>

namespace aoti_dbg {

std::vector<ControlGroup> memory_control_groups() {
    constexpr std::string_view kFirst = ":memory:";
    constexpr std::string_view kSecond = "0::";
    std::vector<ControlGroup> groups;
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("0::/"))
            groups.push_back({false, "/sys/fs/cgroup", line.substr(kSecond.size())});
        else if (const std::size_t at = line.find(":memory:/"); at != std::string::npos)
            groups.push_back({true, "/sys/fs/cgroup/memory", line.substr(at + kFirst.size())});
    }
    return groups;
}

}  // namespace aoti_dbg

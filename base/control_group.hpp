// The control groups that limit the memory of this process.
#pragma once

#include <string>
#include <vector>

namespace aoti_dbg {

struct ControlGroup {
    bool is_first_version = false;
    std::string root;  // the folder of the group that contains all others
    std::string path;  // below the root, with a leading slash. Inside a container, it may not exist there.
};

/// Reads /proc/self/cgroup. Returns none if it is unreadable.
std::vector<ControlGroup> memory_control_groups();

}  // namespace aoti_dbg

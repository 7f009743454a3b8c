// The name of a captured launch's file in OUT/launches (launch_record.hpp).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace aoti_dbg {

inline std::string launch_name(std::uint32_t run, std::uint32_t call) {
    char name[64];
    std::snprintf(name, sizeof name, "run%04u-call%04u.json", run, call);
    return name;
}

}  // namespace aoti_dbg

// `aoti-dbg show`: prints the tail of a flight ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace aoti_dbg::cli {

struct ShowRequest {
    std::string place;  // a ring, or a directory with rings in or below it
    std::size_t last = 20;
    bool all = false;
    std::optional<std::uint32_t> thread;
};

/// Returns the exit code: 0, or 1 if there is nothing to show.
int show(const ShowRequest& request);

}  // namespace aoti_dbg::cli

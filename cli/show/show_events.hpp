// `aoti-dbg show --format`: renders what level 2 recorded, as the library would have printed it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "serializer/event_format.hpp"

namespace aoti_dbg::cli {

struct ShowEventsRequest {
    std::string place;  // a file of events, or a folder with such files in or below it
    EventFormat format = EventFormat::text;
    std::optional<std::uint64_t> thread;
};

/// Returns the exit code: 0, or 1 when there is nothing to show.
int show_events(const ShowEventsRequest& request);

}  // namespace aoti_dbg::cli

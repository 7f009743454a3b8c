// `aoti-dbg show --format`: renders level 2 events as the library would have printed them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/output_format.hpp"
#include "model/torch_trace.hpp"

namespace aoti_dbg::cli {

struct ShowEventsRequest {
    std::string place;  // an events file, or a directory with such files in or below it
    OutputFormat format = OutputFormat::text;
    std::optional<std::uint64_t> thread;
    const TorchTrace* trace = nullptr;  // logs of the models' compilation; null: none
};

/// Returns the exit code: 0, or 1 if there is nothing to show.
int show_events(const ShowEventsRequest& request);

}  // namespace aoti_dbg::cli

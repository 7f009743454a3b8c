// `aoti-dbg show --follow`: prints calls and findings of running processes as they are recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/output_format.hpp"
#include "model/torch_trace.hpp"

namespace aoti_dbg::cli {

struct FollowRequest {
    std::string place;                   // an output directory, or one that has output directories
    std::optional<OutputFormat> format;  // of events; empty: events in compact form, or else calls
    std::optional<std::uint32_t> thread;
    const TorchTrace* trace = nullptr;  // logs of the models' compilation; null: none
};

/// Returns when all processes of the directory have ended. Waits for the first one. Returns the exit code.
int follow(const FollowRequest& request);

}  // namespace aoti_dbg::cli

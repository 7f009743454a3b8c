// Prints an events.jsonl while its process still writes to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/growing_events.hpp"
#include "cli/show/event_printer.hpp"

namespace aoti_dbg::cli {

/// Prints the events of one process as they are recorded.
class FollowedEvents {
  public:
    FollowedEvents(const std::string& path, OutputFormat format, std::optional<std::uint64_t> thread,
                   const TorchTrace* trace);
    FollowedEvents(const FollowedEvents&) = delete;
    FollowedEvents& operator=(const FollowedEvents&) = delete;

    [[nodiscard]] bool is_open() const { return events_.is_open(); }

    /// Appends what is new, of a large file some of it. Returns false if nothing is new.
    bool poll(bool is_final, std::string& out);

    /// True if events of calls were among them, which only level 2 writes.
    [[nodiscard]] bool has_calls() const { return has_calls_; }
    [[nodiscard]] std::uint64_t shown() const { return printer_.shown(); }
    [[nodiscard]] std::uint64_t damaged() const { return events_.notes().damaged; }

  private:
    GrowingEvents events_;
    EventPrinter printer_;
    bool has_calls_ = false;
};

}  // namespace aoti_dbg::cli

// Prints the calls in a flight ring while its process still makes calls.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "serializer/flight_ring_reader.hpp"

namespace aoti_dbg::cli {

class FollowedCalls {
  public:
    explicit FollowedCalls(std::optional<std::uint32_t> thread) : thread_(thread) {}

    /// Appends calls that are new in the ring, also those that did not return yet. With `is_final`, the
    /// process has ended, and open calls get their last state.
    void poll(const ring::Contents& contents, bool is_final, std::string& out);

    [[nodiscard]] std::uint64_t shown() const { return shown_; }
    /// Returns the number of calls that the ring overwrote before they were seen.
    [[nodiscard]] std::uint64_t lost() const { return lost_ + missing_.size(); }

  private:
    bool is_new(std::uint64_t sequence);

    std::optional<std::uint32_t> thread_;
    std::uint64_t last_ = 0;           // the latest sequence number seen
    std::set<std::uint64_t> missing_;  // earlier ones that may still appear
    std::set<std::uint64_t> open_;     // printed before they returned
    std::uint64_t shown_ = 0;
    std::uint64_t lost_ = 0;
};

}  // namespace aoti_dbg::cli

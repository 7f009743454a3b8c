// Turns times of a device's clock into times of the host's. A marker runs after its launch began on the host,
// and before the host sees it, so each marker bounds how far the two clocks are apart. Not safe for several
// threads at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace aoti_dbg {

class DeviceClock {
  public:
    /// At `device` of the device's clock, the host's clock was between `earliest` and `latest`. All times are
    /// in nanoseconds.
    void observe(std::uint64_t device, std::uint64_t earliest, std::uint64_t latest);

    [[nodiscard]] bool is_known() const { return is_known_; }
    /// Returns how far the bounds are apart.
    [[nodiscard]] std::uint64_t uncertainty() const { return static_cast<std::uint64_t>(high_ - low_); }
    /// Needs is_known().
    [[nodiscard]] std::uint64_t host_time(std::uint64_t device) const {
        return device + static_cast<std::uint64_t>(offset_);
    }

  private:
    bool is_known_ = false;
    std::int64_t low_ = 0;  // host minus device
    std::int64_t high_ = 0;
    std::int64_t offset_ = 0;
    std::int64_t best_ = 0;  // how close the bounds have been
    std::uint64_t widened_at_ = 0;
};

/// A stream as its launches name it.
struct MarkedStreamName {
    std::uint64_t handle = 0;
    std::uint64_t thread = 0;  // the owner, if each thread has its own stream with this handle; else 0
    bool operator==(const MarkedStreamName&) const = default;
};

struct HostTimes {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
};

/// Remembers when the last launch of each stream ended, because the next one starts no earlier.
class StreamEnds {
  public:
    /// The next launch of the stream began at `begun` on the host, and ended at `device` on the device. Needs
    /// a known clock. The start is never after the end, and spans of a stream do not overlap.
    HostTimes add(const MarkedStreamName& stream, std::uint64_t begun, std::uint64_t device,
                  const DeviceClock& clock);

    static constexpr std::size_t kMostStreams = 1024;

  private:
    struct End {
        MarkedStreamName stream;
        std::uint64_t device = 0;
        std::uint64_t host = 0;  // as returned
    };
    std::vector<End> ends_;
    std::size_t oldest_ = 0;  // replaced next, if there are too many streams
};

}  // namespace aoti_dbg

// The captured launches of a session: a folder with one file for each, and one for each different module.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "serializer/launch_record.hpp"
#include "shim/calls/session_part.hpp"
#include "shim/capture/images.hpp"

namespace aoti_dbg {

class CapturePart final : public SessionPart {
  public:
    explicit CapturePart(const std::string& out) : folder_(out + "/launches") {}

    /// Writes the launch and, unless it was written before, its code. Warns once if that fails, or if there
    /// are too many.
    void add(LaunchRecord& launch, const Image& image);

    void append_coverage(CoverageLine& line) const override;
    [[nodiscard]] bool has_files() const override { return !launches_.empty(); }

  private:
    Status write(LaunchRecord& launch, const Image& image);
    Status create_folder();
    Status write_image(LaunchRecord& launch, const Image& image);

    std::mutex mutex_;
    std::string folder_;
    std::set<std::uint64_t> images_;                              // hashes of those that were written
    std::set<std::pair<std::uint32_t, std::uint32_t>> launches_;  // run and call
    bool has_ended_ = false;
};

/// Gives the session this part if the options capture launches.
void start_capture(Session& session);

}  // namespace aoti_dbg

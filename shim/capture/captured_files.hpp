// Tracks which launches and images are on disk, and which to remove with a run. Touches no file. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace aoti_dbg {

class CapturedFiles {
  public:
    struct Removed {
        std::vector<std::uint32_t> calls;   // of the run
        std::vector<std::uint64_t> images;  // that no other launch needs
    };

    /// Adds a launch that needs this image, or none if that is 0. A later launch of the same call replaces
    /// the earlier one. Returns the images that no launch needs any more.
    std::vector<std::uint64_t> add(std::uint32_t run, std::uint32_t call, std::uint64_t image);

    /// Forgets the launches of the run.
    Removed remove_run(std::uint32_t run);

    [[nodiscard]] bool has_launch(std::uint32_t run, std::uint32_t call) const;
    [[nodiscard]] bool has_image(std::uint64_t image) const { return images_.count(image) != 0; }
    [[nodiscard]] std::size_t launches() const { return launches_; }
    [[nodiscard]] std::size_t launches_of(std::uint32_t run) const;
    /// The number of runs and images in memory.
    [[nodiscard]] std::size_t tracked() const { return runs_.size() + images_.size(); }

  private:
    using Launches = std::map<std::uint32_t, std::uint64_t>;  // the image of each call

    void release(std::uint64_t image, std::vector<std::uint64_t>& unneeded);

    std::map<std::uint32_t, Launches> runs_;
    std::map<std::uint64_t, std::size_t> images_;  // how many launches need each
    std::size_t launches_ = 0;
};

}  // namespace aoti_dbg

// The captured launches of a session: a folder with one file for each, and one for each different module.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/status.hpp"
#include "serializer/launch_record.hpp"
#include "shim/calls/run_files.hpp"
#include "shim/calls/session_part.hpp"
#include "shim/capture/captured_files.hpp"
#include "shim/capture/images.hpp"

namespace aoti_dbg {

class CapturePart final : public SessionPart, public RunFiles, public CapturedLaunches {
  public:
    explicit CapturePart(const std::string& out) : folder_(out + "/launches") {}

    /// Sets what decides which runs stay. Without it, all launches do. Call it before the first launch.
    void ask(RunKeeper& keeper) { keeper_ = &keeper; }

    /// Writes the launch and, unless it was written before, its code. Warns once if that fails, or if there
    /// are too many.
    void add(LaunchRecord& launch, const Image& image);

    void remove_run(std::uint32_t run) override;
    std::string file_of(std::uint32_t run, std::uint32_t call) override;

    void finish() override;
    void append_coverage(CoverageLine& line) const override;
    [[nodiscard]] bool has_files() const override { return on_disk_.load(std::memory_order_relaxed) != 0; }

  private:
    void add_if_possible(LaunchRecord& launch, const Image& image);
    [[nodiscard]] bool has_room(std::uint32_t run);
    Status write(LaunchRecord& launch, const Image& image);
    Status create_folder();
    Status write_image(LaunchRecord& launch, const Image& image);
    void remove_image(std::uint64_t hash);

    RunKeeper* keeper_ = nullptr;
    std::mutex mutex_;
    std::string folder_;
    CapturedFiles files_;
    bool has_ended_ = false;
    bool has_said_ = false;  // that there are too many launches
    std::atomic<bool> has_folder_{false};
    std::atomic<std::uint64_t> on_disk_{0};  // launches
    std::atomic<std::uint64_t> removed_{0};
};

/// Gives the session this part if the options capture launches.
void start_capture(Session& session);

}  // namespace aoti_dbg

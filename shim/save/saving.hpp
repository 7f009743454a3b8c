// Level 1: tensors as they are at one moment, handed to the threads that write them. What lies in host memory
// is copied by the launching thread; what lies on a device is brought by a kernel of ours on the call's own
// stream, and nobody waits for it. One for a session; made when the first tensor is to be saved.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/options.hpp"
#include "shim/save/arrivals.hpp"
#include "shim/save/saving_gpu.hpp"
#include "shim/save/staging.hpp"
#include "shim/save/tensor_writers.hpp"

namespace aoti_dbg {

class Saving {
  public:
    /// Null where nothing can be saved, which is said. Never freed: threads may be inside until the process
    /// ends.
    static Saving* start(const Options& options, const std::string& out, const std::string& here);

    [[nodiscard]] TensorWriters& writers() { return writers_; }
    [[nodiscard]] Staging& staging() { return *staging_; }
    [[nodiscard]] Arrivals& arrivals() { return arrivals_; }
    [[nodiscard]] const NamePatterns& wanted() const { return wanted_; }
    /// No tensor of more bytes is saved.
    [[nodiscard]] std::uint64_t largest() const { return largest_; }
    /// How long who finds staging or queue full waits while nobody makes progress.
    [[nodiscard]] std::uint32_t patience_ms() const { return patience_ms_; }

    /// Of the calling thread's context, or of `context` if that is not null; null where nothing can be saved
    /// from it.
    SavingGpu* gpu_of(CUcontext context);
    /// A context goes, or all those of a device: what is under way is brought home, with a deadline, and
    /// everything is set up anew when it is needed.
    void end_context(CUcontext context);
    void end_contexts_of(CUdevice device);

    /// After each side of a call, if the options ask for it: what was handed over is on disk then.
    void sync();

    void end_of_run(std::uint32_t run, bool had_finding) { writers_.end_of_run(run, had_finding); }

    /// Waits until everything is on disk, and ends it. May be called by a signal handler on the way out.
    void finish();
    [[nodiscard]] SaveProgress progress() { return writers_.progress(); }
    /// What was saved, and what was not, for the line of coverage; after finish().
    [[nodiscard]] const SavedCounts& counts() const { return writers_.saver().counts(); }
    [[nodiscard]] const std::string& folder() const { return folder_; }

  private:
    template <typename Goes>
    void end_contexts(Goes goes);
    Saving(const Options& options, TensorWriters& writers, std::unique_ptr<Staging> staging);

    TensorWriters& writers_;
    std::unique_ptr<Staging> staging_;
    Arrivals arrivals_;
    std::string folder_;
    const NamePatterns& wanted_;
    std::uint64_t largest_;
    std::uint64_t staging_bytes_;
    std::uint32_t patience_ms_;
    bool syncs_;

    std::mutex gpus_mutex_;
    std::map<CUcontext, std::unique_ptr<SavingGpu>> gpus_;  // null: it cannot be set up
    std::vector<std::unique_ptr<SavingGpu>> retired_;       // pieces may still refer to them
};

}  // namespace aoti_dbg

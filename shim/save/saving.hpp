// Level 1: passes the contents of tensors at one moment to the writer threads. The launching thread copies
// tensors in host memory. Tensors on a device are copied by a kernel of ours on the call's own stream,
// without waiting for it. A session has one instance, created when it saves its first tensor.
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
    /// Prints a warning and returns null if nothing can be saved. The object is never freed, because threads
    /// may use it until the process ends.
    /// `run_files` are removed with the tensors of their run. It may be null.
    static Saving* start(const Options& options, const std::string& out, const std::string& here,
                         RunFiles* run_files = nullptr);

    [[nodiscard]] TensorWriters& writers() { return writers_; }
    [[nodiscard]] Staging& staging() { return *staging_; }
    [[nodiscard]] Arrivals& arrivals() { return arrivals_; }
    [[nodiscard]] const NamePatterns& requested() const { return requested_; }
    /// Larger tensors are not saved.
    [[nodiscard]] std::uint64_t largest() const { return largest_; }
    /// How long a thread waits for room in the staging buffer or the queue while nothing progresses.
    [[nodiscard]] std::uint32_t patience_ms() const { return patience_ms_; }

    /// Returns the state for `context`, or for the calling thread's context if that is null. Returns null if
    /// no tensor can be saved from it.
    SavingGpu* gpu_of(CUcontext context);
    /// Call these when a context, or all contexts of a device, are about to be destroyed. They bring in
    /// pending pieces, with a deadline. Everything is set up again when needed.
    void end_context(CUcontext context);
    void end_contexts_of(CUdevice device);

    /// If AOTI_DBG_SYNC is set, waits until everything handed over is on disk. Call this before and after
    /// each call.
    void sync();
    /// Waits until arrived tensors are on disk. Stops if the disk makes no progress. The handler of a fatal
    /// signal may call this.
    void flush();

    void end_of_run(std::uint32_t run, bool had_finding) { writers_.end_of_run(run, had_finding); }

    /// Waits until everything is on disk, then ends saving. A signal handler may call this on the way out.
    void finish();
    [[nodiscard]] SaveProgress progress() { return writers_.progress(); }
    /// Counts saved and skipped tensors for the coverage line. Valid after finish().
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
    const NamePatterns& requested_;
    std::uint64_t largest_;
    std::uint64_t staging_bytes_;
    std::uint32_t patience_ms_;
    bool syncs_;

    std::mutex gpus_mutex_;
    std::map<CUcontext, std::unique_ptr<SavingGpu>> gpus_;  // null if setup failed
    std::vector<std::unique_ptr<SavingGpu>> retired_;       // pieces may still refer to them
};

}  // namespace aoti_dbg

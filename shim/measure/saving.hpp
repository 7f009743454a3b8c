// Level 1: the bytes of a call's tensors, copied by the launching thread as they are at that moment and
// handed to the threads that write them. One for a session; made when the first tensor is to be saved.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/options.hpp"
#include "shim/measure/site_plan.hpp"
#include "shim/measure/staging.hpp"
#include "shim/measure/tensor_reader.hpp"
#include "shim/report/tensor_writers.hpp"

namespace aoti_dbg {

class Saving {
  public:
    /// Null where nothing can be saved, which is said. Never freed: threads may be inside until the process
    /// ends.
    static Saving* start(const Options& options, const std::string& out, const std::string& here);

    /// Which side of which call.
    struct Side {
        EventSide side = EventSide::before;
        std::uint32_t model = ~0U;
        std::uint32_t run = ~0U;
        std::uint32_t call = kNoCallNumber;
        std::uint64_t sequence = 0;
        std::string_view kernel;
    };
    /// A tensor in host memory. Waits while staging or queue are full, as the options have it.
    void save(const Side& side, const PlannedArgument& facts, const SeenTensor& tensor);

    void end_of_run(std::uint32_t run, bool had_finding) { writers_.end_of_run(run, had_finding); }

    /// Waits until everything is on disk, and ends it. May be called by a signal handler on the way out.
    void finish();
    /// What was saved, and what was not, for the line of coverage; after finish().
    [[nodiscard]] SavingProgress progress() { return writers_.progress(); }
    [[nodiscard]] const std::string& folder() const { return folder_; }

  private:
    Saving(const Options& options, TensorWriters& writers, std::unique_ptr<Staging> staging);
    bool copy(SavingJob* job, std::span<const std::byte> bytes);

    TensorWriters& writers_;
    std::unique_ptr<Staging> staging_;
    std::string folder_;
    const NamePatterns& wanted_;
    std::uint64_t largest_;
    std::uint32_t patience_ms_;
};

}  // namespace aoti_dbg

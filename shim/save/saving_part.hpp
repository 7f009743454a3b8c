// The saved tensors of a session. Nothing is created before the first tensor is saved.
#pragma once

#include "shim/calls/run_files.hpp"
#include "shim/calls/session_part.hpp"
#include "shim/runtime/created_once.hpp"
#include "shim/save/saving.hpp"

namespace aoti_dbg {

class SavingPart final : public SessionPart, public RunKeeper {
  public:
    explicit SavingPart(const Session& session) : session_(session) {}

    /// Starts saving at the first call. Returns null if nothing can be saved.
    [[nodiscard]] Saving* saving() {
        return saving_.get([this] { return start(); });
    }
    /// Returns null if nothing was saved yet.
    [[nodiscard]] Saving* present() const { return saving_.present(); }

    /// Sets the files that go with the tensors of their run. Call it before the first tensor.
    void remove_with_runs(RunFiles& files) { run_files_ = &files; }
    bool begin_run_file(std::uint32_t run) override;
    void end_run_file(std::uint32_t run) override;
    /// Makes finish() remove all runs that may be removed, because the program ends without a fault.
    void remove_all_at_end();
    /// See Saving::flush().
    void flush() const;

    void context_ends(CUctx_st* context) override;
    void device_ends(int device) override;
    void finish() override;
    void append_coverage(CoverageLine& line) const override;
    [[nodiscard]] bool has_files() const override { return present() != nullptr; }

  private:
    Saving* start() const;

    const Session& session_;
    RunFiles* run_files_ = nullptr;
    CreatedOnce<Saving> saving_;
};

/// Gives the session this part if the options save tensors.
void start_saving(Session& session);

}  // namespace aoti_dbg

// The saved tensors of a session. Nothing is created before the first tensor is saved.
#pragma once

#include <atomic>
#include <mutex>

#include "shim/calls/session_part.hpp"
#include "shim/save/saving.hpp"

namespace aoti_dbg {

class SavingPart final : public SessionPart {
  public:
    explicit SavingPart(const Session& session) : session_(session) {}

    /// Starts saving at the first call. Returns null if nothing can be saved.
    [[nodiscard]] Saving* saving();
    /// Returns null if nothing was saved yet.
    [[nodiscard]] Saving* present() const { return saving_.load(std::memory_order_acquire); }

    void context_ends(CUctx_st* context) override;
    void device_ends(int device) override;
    void finish() override;
    void append_coverage(CoverageLine& line) const override;
    [[nodiscard]] bool has_files() const override { return present() != nullptr; }

  private:
    const Session& session_;
    std::mutex mutex_;  // for the start
    std::atomic<bool> is_over_{false};
    std::atomic<Saving*> saving_{nullptr};
};

/// Gives the session this part if the options save tensors.
void start_saving(Session& session);

}  // namespace aoti_dbg

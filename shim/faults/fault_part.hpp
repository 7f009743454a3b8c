// What triage does at the start and at the exit of a session: it prepares the report, watches fatal signals,
// and says where the driver's core dump is.
#pragma once

#include <atomic>
#include <string>

#include "shim/calls/session_part.hpp"

namespace aoti_dbg {

class FaultPart final : public SessionPart {
  public:
    explicit FaultPart(Session& session);

    /// Sets the path to which the driver writes a core dump after a GPU fault.
    void expect_dump(const std::string& path) {
        dump_.store(new std::string(path), std::memory_order_release);
    }

    void context_appears(const ring::DeviceContext& context) override;
    void finish() override;
    void append_coverage(CoverageLine& line) const override;
    bool conclude() override;

  private:
    const Session& session_;
    std::atomic<const std::string*> dump_{nullptr};  // never freed, because exit reads it
    bool is_written_ = false;                        // the dump, as seen at exit
};

void start_fault_part(Session& session);

}  // namespace aoti_dbg

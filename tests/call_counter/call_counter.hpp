// An example of a feature: counts the calls of each kernel, and prints the counts when a run returns.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/message.hpp"
#include "shim/calls/call_observer.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/names.hpp"

namespace aoti_dbg {

class CallCounter final : public CallObserver {
  public:
    constexpr CallCounter() = default;
    [[nodiscard]] CallMoments moments() const override { return {.before = true, .after = true}; }

    void before(ThreadState& /*state*/, OpenCall& call) const override {
        if (call.name->id < counts_.size()) ++counts_[call.name->id];
    }
    void after(ThreadState& /*state*/, OpenCall& call, std::int32_t /*result*/) const override {
        if (call.kind == ring::CallKind::run) print();
    }

  private:
    static void print() {
        for (std::uint32_t id = 0; id < counts_.size(); ++id)
            if (counts_[id] != 0)
                message(Severity::info, "calls of %s: %d", name_by_id(id)->printed.c_str(),
                        counts_[id].load());
    }

    // By the number of the kernel's name. Any thread counts, and nothing locks or allocates.
    inline static std::array<std::atomic<int>, 1000> counts_{};
};

inline constexpr CallCounter kCallCounter;

}  // namespace aoti_dbg

// What one model expects of its runs, and what was done to its containers. Made when the model arrives; read
// by launching threads, without a lock where nothing is wrong.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/wrapper_info.hpp"
#include "shim/check/mismatch.hpp"

namespace aoti_dbg {

class ModelChecks {
  public:
    /// `info` outlives it.
    explicit ModelChecks(const WrapperInfo& info);

    struct Input {
        const InputGuard* guard = nullptr;  // null: nothing is known of it
        bool relies_on_strides = false;
    };
    /// Of the n-th input of a run.
    [[nodiscard]] Input input(std::size_t n) const { return n < inputs_.size() ? inputs_[n] : Input{}; }
    /// How many a run is given; 0: not known.
    [[nodiscard]] std::size_t inputs() const { return info_.inputs.size(); }
    /// Whether the source says what inputs have to be.
    [[nodiscard]] bool is_checkable() const { return !info_.input_guards.empty(); }
    /// True once.
    bool first_to_miss_checks() { return !missed_.exchange(true, std::memory_order_relaxed); }

    /// A function that gives a container constants has come back.
    void note_update(const void* container, const std::string& function, std::int32_t result);
    void forget(const void* container);
    /// Whether the constants of a container that is about to run are as they should be.
    [[nodiscard]] std::optional<Mismatch> wrong_constants(const void* container) const;

  private:
    struct Constants {
        bool are_given = false;
        std::string failed;  // the last update, where that is so
        std::int32_t error = 0;
    };

    const WrapperInfo& info_;
    std::vector<Input> inputs_;
    std::atomic<bool> missed_{false};
    std::atomic<bool> has_failed_{false};         // an update, of any container
    std::map<const void*, Constants> constants_;  // by constants_mutex
};

}  // namespace aoti_dbg

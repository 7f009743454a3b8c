// What one model expects of its runs, and what was done to its containers. Made when the model arrives; read
// by launching threads, without a lock where nothing is wrong.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/wrapper_info.hpp"
#include "shim/check/mismatch.hpp"
#include "shim/tensors/site_plan.hpp"

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
    [[nodiscard]] std::size_t inputs() const { return info_.is_complete ? info_.inputs.size() : 0; }
    /// Whether the source says what inputs have to be.
    [[nodiscard]] bool is_checkable() const { return !info_.input_guards.empty(); }
    /// True once.
    bool first_to_miss_checks() { return !missed_.exchange(true, std::memory_order_relaxed); }

    /// A pointer among the parameters of a launch.
    struct LaunchPointer {
        std::uint32_t parameter = 0;
        std::uint32_t alignment = 0;  // as TritonParameter
        std::uint32_t place = 0;      // among all pointers of the model
        const ArgumentFacts* argument = nullptr;
    };
    /// Of the launch at a site; none where it is not known what is passed.
    [[nodiscard]] std::span<const LaunchPointer> pointers_at(std::uint32_t site) const {
        return site < pointers_.size() ? std::span<const LaunchPointer>(pointers_[site])
                                       : std::span<const LaunchPointer>();
    }
    /// Of all sites.
    [[nodiscard]] std::uint32_t pointers() const { return pointer_count_; }
    /// Once, before anybody asks. `sites` stay.
    void plan_launches(const std::deque<SitePlan>& sites);

    /// A function that gives a container constants has come back.
    void note_update(const void* container, const std::string& function, std::int32_t result);
    void forget(const void* container);
    /// Grows with each of both.
    [[nodiscard]] std::uint64_t changes() const { return changes_.load(std::memory_order_acquire); }
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
    std::vector<std::vector<LaunchPointer>> pointers_;  // by site
    std::uint32_t pointer_count_ = 0;
    std::atomic<bool> missed_{false};
    std::atomic<bool> has_failed_{false};  // an update, of any container
    std::atomic<std::uint64_t> changes_{0};
    std::map<const void*, Constants> constants_;  // by constants_mutex
};

}  // namespace aoti_dbg

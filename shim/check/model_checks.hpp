// What one model expects of its runs, and what was done to its containers. It is built when the model loads.
// Launching threads read it, and take no lock while nothing is wrong.
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
    /// `info` must outlive this object.
    explicit ModelChecks(const WrapperInfo& info);

    struct Input {
        const InputGuard* guard = nullptr;  // null if nothing is known about the input
        bool relies_on_strides = false;
    };
    /// Returns the check of the n-th input of a run.
    [[nodiscard]] Input input(std::size_t n) const { return n < inputs_.size() ? inputs_[n] : Input{}; }
    /// Returns the number of inputs of a run, or 0 if unknown.
    [[nodiscard]] std::size_t inputs() const { return info_.is_complete ? info_.inputs.size() : 0; }
    /// True if the source states the requirements of inputs.
    [[nodiscard]] bool is_checkable() const { return !info_.input_guards.empty(); }
    /// Returns true at the first call only.
    bool first_to_miss_checks() { return !missed_.exchange(true, std::memory_order_relaxed); }

    /// A pointer among the parameters of a launch.
    struct LaunchPointer {
        std::uint32_t parameter = 0;
        std::uint32_t alignment = 0;  // as in TritonParameter
        std::uint32_t place = 0;      // index among all pointers of the model
        const ArgumentFacts* argument = nullptr;
    };
    /// Returns the pointers of the launch at a site, or none if its parameters are unknown.
    [[nodiscard]] std::span<const LaunchPointer> pointers_at(std::uint32_t site) const {
        return site < pointers_.size() ? std::span<const LaunchPointer>(pointers_[site])
                                       : std::span<const LaunchPointer>();
    }
    /// Returns the number of pointers of all sites.
    [[nodiscard]] std::uint32_t pointers() const { return pointer_count_; }
    /// Call this once, before any other thread uses the object. `sites` must outlive it.
    void plan_launches(const std::vector<SitePlan>& sites);

    /// Records the result of a function that sets a container's constants.
    void note_update(const void* container, const std::string& function, std::int32_t result);
    void forget(const void* container);
    /// Changes with each note_update() and forget().
    [[nodiscard]] std::uint64_t changes() const { return changes_.load(std::memory_order_acquire); }
    /// Returns what is wrong with the constants of a container before it runs.
    [[nodiscard]] std::optional<Mismatch> wrong_constants(const void* container) const;

  private:
    struct Constants {
        bool are_given = false;
        std::string failed;  // the function, if the last update failed
        std::int32_t error = 0;
    };

    const WrapperInfo& info_;
    std::vector<Input> inputs_;
    std::vector<std::vector<LaunchPointer>> pointers_;  // by site
    std::uint32_t pointer_count_ = 0;
    std::atomic<bool> missed_{false};
    std::atomic<bool> has_failed_{false};  // an update failed, in any container
    std::atomic<std::uint64_t> changes_{0};
    std::map<const void*, Constants> constants_;  // guarded by constants_mutex
};

}  // namespace aoti_dbg

// What measuring needs of one model, made when it arrives: the getters of its libtorch, its call sites made
// ready, the memory of its constants. Read by launching threads without a lock, but for the constants.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>

#include "model/allocation_names.hpp"
#include "model/call_matcher.hpp"
#include "model/wrapper_info.hpp"
#include "shim/check/model_checks.hpp"
#include "shim/tensors/site_plan.hpp"
#include "shim/tensors/tensor_reader.hpp"

namespace aoti_dbg {

struct Name;
struct LoadedObject;

class MeasuredModel {
  public:
    /// nullptr where the shim's getters are not found.
    static std::unique_ptr<MeasuredModel> read(const LoadedObject& object);

    [[nodiscard]] const ShimApi& api() const { return api_; }
    /// What it launches runs on a stream, and is not over when the launch comes back.
    [[nodiscard]] bool is_on_cuda() const { return is_on_cuda_; }
    [[nodiscard]] const CallPlan& plan() const { return plan_; }

    /// The plan's number of a kernel or op; kNone if no site has it.
    [[nodiscard]] std::uint32_t id_of(const Name* name) const;
    /// False without a wrapper source.
    [[nodiscard]] bool has_sites() const { return !sites_.empty(); }
    /// The site of that number, null for kNone.
    [[nodiscard]] const SitePlan* site(std::uint32_t number) const {
        return number < sites_.size() ? &sites_[number] : nullptr;
    }
    /// What a launch at this site passes (TritonKernelInfo::launched); empty where it is not known.
    [[nodiscard]] std::span<const std::uint32_t> launched_at(const SitePlan& site) const;
    /// Of the n-th input or output of a run.
    [[nodiscard]] const PlannedArgument& input(std::size_t n) const;
    [[nodiscard]] const PlannedArgument& output(std::size_t n) const;

    /// Names of the tensors that a run makes.
    [[nodiscard]] const AllocationNames& allocation_names() const { return allocation_names_; }

    /// Of AOTI_DBG_CHECK=args.
    [[nodiscard]] ModelChecks& checks() { return checks_; }
    [[nodiscard]] const ModelChecks& checks() const { return checks_; }

    /// Memory that was asked for outside of any run, or with a constant at the beginning of one: a
    /// constant's.
    void note_constant(TensorHandle handle);
    /// By address; false if nothing is known of it.
    bool constant_at(std::uint64_t address, SeenTensor& seen) const;
    [[nodiscard]] bool has_constant_at(std::uint64_t address) const;
    /// Changes whenever the answers of the two above may; to be read before they are asked.
    [[nodiscard]] std::uint32_t constants_changed() const {
        return constants_changed_.load(std::memory_order_acquire);
    }

  private:
    MeasuredModel(const ShimApi& api, WrapperInfo info, bool is_on_cuda);

    ShimApi api_;
    bool is_on_cuda_;
    WrapperInfo info_;
    ModelChecks checks_;
    CallPlan plan_;
    AllocationNames allocation_names_;
    std::unordered_map<const Name*, std::uint32_t> ops_;
    std::unordered_map<std::string, std::uint32_t> kernels_;  // by what PyTorch prints
    std::deque<SitePlan> sites_;
    std::deque<PlannedArgument> inputs_;
    std::deque<PlannedArgument> outputs_;
    // By constants_mutex. The reader keeps whatever it has told of: shapes of weights do not come and go.
    TensorReader constant_reader_;
    std::unordered_map<std::uint64_t, const SeenFacts*> constant_memory_;
    std::atomic<std::uint32_t> constants_changed_{0};  // how often
};

}  // namespace aoti_dbg

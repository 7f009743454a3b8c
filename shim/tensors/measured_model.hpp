// The data that measuring needs about one model, built when the model loads: the getters of its libtorch, its
// planned call sites and the memory of its constants. Launching threads read it without a lock, except for
// the constants.
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
#include "shim/calls/parts.hpp"
#include "shim/tensors/site_plan.hpp"
#include "shim/tensors/tensor_reader.hpp"

namespace aoti_dbg {

struct Name;
struct LoadedObject;

class MeasuredModel {
  public:
    /// Returns nullptr if the shim's getters are not found.
    static std::unique_ptr<MeasuredModel> read(const LoadedObject& object);
    /// A model that no library contains.
    static std::unique_ptr<MeasuredModel> described(const ShimApi& api, WrapperInfo info, bool is_on_cuda);

    [[nodiscard]] const ShimApi& api() const { return api_; }
    /// True if the model launches work on a stream, which is still running when the launch returns.
    [[nodiscard]] bool is_on_cuda() const { return is_on_cuda_; }
    [[nodiscard]] const CallPlan& plan() const { return plan_; }

    /// Returns the plan's number of a kernel or op, or kNone if no site has it.
    [[nodiscard]] std::uint32_t id_of(const Name* name) const;
    /// False without a wrapper source.
    [[nodiscard]] bool has_sites() const { return !sites_.empty(); }
    /// Returns the site with that number, or null for kNone.
    [[nodiscard]] const SitePlan* site(std::uint32_t number) const {
        return number < sites_.size() ? &sites_[number] : nullptr;
    }
    /// Returns what a launch at this site passes (TritonKernelInfo::launched). The span is empty if that is
    /// unknown.
    [[nodiscard]] std::span<const std::uint32_t> launched_at(const SitePlan& site) const;
    /// The n-th input or output of a run.
    [[nodiscard]] const PlannedArgument& input(std::size_t n) const;
    [[nodiscard]] const PlannedArgument& output(std::size_t n) const;

    /// The names of the tensors that a run creates.
    [[nodiscard]] const AllocationNames& allocation_names() const { return allocation_names_; }

    /// What the wrapper source says. It is empty without a source.
    [[nodiscard]] const WrapperInfo& info() const { return info_; }
    [[nodiscard]] const std::vector<SitePlan>& sites() const { return sites_; }
    /// What features keep for this model. They add it when the model loads.
    [[nodiscard]] Parts& parts() { return parts_; }
    [[nodiscard]] const Parts& parts() const { return parts_; }

    /// Records the memory of a constant. The model fetches it outside of any run, or together with a constant
    /// at the start of a run.
    void note_constant(TensorHandle handle);
    /// Finds a constant by address. Returns false if the address is unknown.
    bool constant_at(std::uint64_t address, SeenTensor& seen) const;
    [[nodiscard]] bool has_constant_at(std::uint64_t address) const;
    /// Changes whenever the answers of the two functions above may change. Read it before you call them.
    [[nodiscard]] std::uint32_t constants_changed() const {
        return constants_changed_.load(std::memory_order_acquire);
    }

  private:
    MeasuredModel(const ShimApi& api, WrapperInfo info, bool is_on_cuda, TorchRelease release);

    ShimApi api_;
    bool is_on_cuda_;
    WrapperInfo info_;
    CallPlan plan_;
    AllocationNames allocation_names_;
    std::unordered_map<const Name*, std::uint32_t> ops_;
    std::unordered_map<std::string, std::uint32_t> kernels_;  // by the name that PyTorch prints
    std::vector<SitePlan> sites_;
    Parts parts_;
    std::deque<PlannedArgument> inputs_;
    std::deque<PlannedArgument> outputs_;
    // Guarded by constants_mutex. The reader never drops facts because the shapes of weights do not change.
    TensorReader constant_reader_;
    std::unordered_map<std::uint64_t, const SeenFacts*> constant_memory_;
    std::atomic<std::uint32_t> constants_changed_{0};  // number of changes
};

/// Returns the data on a model, or null if its tensors cannot be inspected. It is never freed. Takes no lock.
MeasuredModel* measured_model(std::uint16_t model);

}  // namespace aoti_dbg

// What measuring needs of one model, made when it arrives: the getters of its libtorch, its call sites and
// which of its names stands where, the memory of its constants. Read by launching threads without a lock, but
// for the constants.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "model/call_matcher.hpp"
#include "model/wrapper_info.hpp"
#include "shim/measure/tensor_info.hpp"

namespace aoti_dbg {

struct Name;
struct LoadedObject;

class MeasuredModel {
  public:
    /// nullptr where the shim's getters are not found.
    static std::unique_ptr<MeasuredModel> read(const LoadedObject& object);

    [[nodiscard]] const ShimApi& api() const { return api_; }
    [[nodiscard]] const WrapperInfo& info() const { return info_; }
    [[nodiscard]] const CallPlan& plan() const { return plan_; }

    /// The plan's number of a kernel or op; kNone if no site has it.
    [[nodiscard]] std::uint32_t id_of(const Name* name) const;
    /// The site of that number, null for kNone.
    [[nodiscard]] const CallSite* site(std::uint32_t number) const;
    /// Whether the call at this site is the first to know a tensor of that name: then it makes it.
    [[nodiscard]] bool is_made_by(std::uint32_t site, const std::string& label) const;
    [[nodiscard]] bool is_constant(const std::string& label) const { return constants_.count(label) != 0; }

    /// Memory that was asked for outside of any run: a constant's.
    void note_constant(TensorHandle handle);
    /// By address; false if nothing is known of it.
    bool constant_at(const void* address, TensorInfo& info) const;

  private:
    MeasuredModel(const ShimApi& api, WrapperInfo info);

    ShimApi api_;
    WrapperInfo info_;
    CallPlan plan_;
    std::unordered_map<const Name*, std::uint32_t> ids_;
    std::unordered_set<std::string> constants_;
    std::map<std::uint32_t, std::unordered_set<std::string>> made_by_;  // by proxy site
    std::unordered_map<const void*, TensorInfo> constant_memory_;       // by constants_mutex
};

}  // namespace aoti_dbg

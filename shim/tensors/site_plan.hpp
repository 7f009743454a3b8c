// A call site of the wrapper source, prepared for measuring: the facts of the call and of each argument as
// every event shows them. It also has the facts that the reuse of names needs. A plan is created once, then
// many threads read it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/wrapper_info.hpp"
#include "serializer/flight_ring_format.hpp"
#include "serializer/measured_event.hpp"
#include "shim/calls/call_lines.hpp"
#include "shim/runtime/shim_table.hpp"
#include "shim/tensors/launched_arguments.hpp"

namespace aoti_dbg {

struct Name;
struct NamedTensor;

struct PlannedArgument : ArgumentFacts {
    std::uint32_t name_number = kNone;  // number of the label in its model; kNone if the name is unknown
    bool is_constant = false;
    bool is_fixed = false;         // a constant whose memory no site writes
    bool is_unwritten = false;     // no earlier site writes its memory
    bool makes_anew = false;       // each pass may bind the label to new memory, because the site may repeat
    std::uint32_t layout = kNone;  // number of its layout, if that never changes
    const Argument* written = nullptr;         // as the source has it
    const NamedTensor* returned_as = nullptr;  // further facts, if the call creates the tensor

    /// True if the call passes the tensor of this label itself, not a view of it.
    [[nodiscard]] bool is_whole() const {
        return written != nullptr && written->tensors.size() == 1 && !written->tensors.front().view;
    }
    /// True if the call is not known to change the memory.
    [[nodiscard]] bool only_reads() const { return role == Role::reads; }
};

struct SitePlan {
    const CallSite* site = nullptr;
    SiteFacts facts;
    bool writes_declared_only = false;  // or memory that the call allocates
    std::deque<PlannedArgument> arguments;
    std::vector<std::vector<const PlannedArgument*>> by_position;  // one argument, or the elements of a list
    std::optional<std::vector<LaunchedArgument>> launched;  // of a launch, if it is known what it passes

    /// Returns null if the source has fewer positions or elements.
    [[nodiscard]] const PlannedArgument* at(std::size_t position, std::size_t element = 0) const {
        if (position >= by_position.size() || element >= by_position[position].size()) return nullptr;
        return by_position[position][element];
    }
};

/// Creates the plans of all sites of `info`, by number. `info` must outlive them.
std::vector<SitePlan> make_site_plans(const WrapperInfo& info, TorchRelease release);

/// Returns arg3, or arg3[1] for a list element, for calls that no source describes.
const PlannedArgument& unknown_argument(std::size_t position);
const PlannedArgument& unknown_argument(std::size_t position, std::size_t element);

/// Returns a scalar or string by its name in the shim's header, or arg3 if it has none.
const PlannedArgument& unknown_scalar(std::size_t position, std::string_view name);

/// Returns input0 or output1, for a run of a model that no source describes.
const PlannedArgument& unknown_end(bool is_input, std::size_t position);

/// Returns the facts of a call without a site. Its place may still be known.
const SiteFacts& unknown_site(const Name& name, ring::CallKind kind, CallLine place = {});

/// Returns "triton", "op" and so on, as in SiteFacts.
const char* kind_text(ring::CallKind kind);

}  // namespace aoti_dbg

// A call site of the wrapper source made ready for measuring: the facts of the call and of each argument, as
// every event shows them, and what reuse has to know of a name. Made once; read by many threads.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "model/wrapper_info.hpp"
#include "serializer/flight_ring_format.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

struct Name;
struct NamedTensor;

struct PlannedArgument : ArgumentFacts {
    std::uint32_t name_number = kNone;  // of the label in its model; kNone: nothing is known of the name
    bool is_constant = false;
    bool makes_anew = false;  // the label may stand for new memory at each passage: the site lies in a loop
    const Argument* written = nullptr;         // as the source has it
    const NamedTensor* returned_as = nullptr;  // what is known of it besides, if the call makes it

    /// As far as known nothing of it is changed by the call.
    [[nodiscard]] bool only_reads() const { return role == Role::reads; }
};

struct SitePlan {
    const CallSite* site = nullptr;
    SiteFacts facts;
    std::deque<PlannedArgument> arguments;
    std::vector<std::vector<const PlannedArgument*>> by_position;  // one, or a list's elements

    /// Null where the source does not have so many.
    [[nodiscard]] const PlannedArgument* at(std::size_t position, std::size_t element = 0) const {
        if (position >= by_position.size() || element >= by_position[position].size()) return nullptr;
        return by_position[position][element];
    }
};

/// Of all sites of `info`, by number; `info` must outlive them.
std::deque<SitePlan> make_site_plans(const WrapperInfo& info);

/// arg3, or arg3[1] of a list: for calls that no source tells of.
const PlannedArgument& unknown_argument(std::size_t position);
const PlannedArgument& unknown_argument(std::size_t position, std::size_t element);

/// Of a scalar or string, by its name in the shim's header; arg3 where it has none.
const PlannedArgument& unknown_scalar(std::size_t position, std::string_view name);

/// input0, output1: of a run of a model that no source tells of.
const PlannedArgument& unknown_end(bool is_input, std::size_t position);

/// Of a call without a site.
const SiteFacts& unknown_site(const Name& name, ring::CallKind kind);

/// "triton", "op", ..., as SiteFacts has them.
const char* kind_text(ring::CallKind kind);

}  // namespace aoti_dbg

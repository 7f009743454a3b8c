// Finds the call site in the wrapper source of each call at run time, by name and order alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/wrapper_info.hpp"

namespace aoti_dbg {

/// The flow of one body, prepared for matching. It is read-only, so threads may share it.
class CallPlan {
  public:
    explicit CallPlan(const RunBody& body);

    /// Returns the number of a name (CallSite::key), or kNone if no site has it. Call this once and keep the
    /// number.
    [[nodiscard]] std::uint32_t id_of(std::string_view key) const;
    [[nodiscard]] std::size_t sites() const { return node_of_site_.size(); }

  private:
    friend class CallMatcher;
    class Builder;

    struct Node {
        enum class Kind : std::uint8_t { call, fork, jump, end };
        Kind kind = Kind::end;
        std::uint8_t skip_cost = 0;  // for a call
        bool is_only = false;        // the only call of its name
        std::uint32_t site = kNone;
        std::uint32_t id = kNone;     // name of a call
        std::uint32_t other = kNone;  // second target of a fork, or target of a jump
    };
    std::vector<Node> nodes_;
    std::map<std::string, std::uint32_t, std::less<>> ids_;
    std::vector<std::vector<std::uint32_t>> sites_of_id_;
    std::vector<std::uint32_t> node_of_site_;
};

/// Follows one run at a time. Only one thread may use it. `plan` must outlive it.
///
/// A run may skip branches, repeat loops, skip single calls (a grid of zero launches nothing) and make calls
/// without a site. So the matcher searches the flow for the cheapest path from its current places to a site
/// of that name. A step on the path is free, skipping a launch costs little, and skipping another call costs
/// more. It keeps equally good places until a later call decides. The straight case is one comparison, and
/// every other case is bounded.
class CallMatcher {
  public:
    struct Match {
        std::uint32_t site = kNone;
        bool is_certain = false;  // no other site is equally good
        bool is_next = false;     // no intercepted call was skipped before it
    };

    explicit CallMatcher(const CallPlan& plan);

    void begin_run();
    /// Returns the site of a call of that name. A name without a site changes nothing.
    Match match(std::uint32_t id) {
        if (expected_ == nullptr || expected_->id != id || id == kNone) return match_elsewhere(id);
        return take(*expected_, places_[0], true);
    }
    /// Returns true once if no path led to a call and only its name identified it.
    bool take_lost();
    /// Nodes visited so far. Tests bound it.
    [[nodiscard]] std::uint64_t steps() const { return steps_; }

  private:
    Match match_elsewhere(std::uint32_t id);
    /// Continues behind the only call that comes next, node number `place`.
    Match take(const CallPlan::Node& call, std::uint32_t place, bool is_next) {
        ++steps_;
        places_[0] = place + 1;
        expected_ = &call + 1;
        if (call.is_only) forgot_places_ = false;
        last_site_ = call.site;
        return {last_site_, !forgot_places_, !forgot_places_ && is_next};
    }
    /// Returns the cost of the path to `candidates_`, or nothing if there is none.
    std::optional<std::size_t> search(std::uint32_t id);
    void expand(std::uint32_t node, std::uint32_t id, std::size_t cost);
    Match finish_match(bool is_next);
    Match jump_by_name(std::uint32_t id);

    const CallPlan& plan_;
    std::vector<std::uint32_t> places_;         // nodes that may come next, best first
    const CallPlan::Node* expected_ = nullptr;  // the only one of them; null if there are several
    std::vector<std::uint32_t> candidates_;     // calls found by the search
    std::vector<std::uint32_t> fronts_[3];  // nodes to visit by cost modulo 3, because a step costs at most 2
    std::vector<std::uint32_t> seen_;       // by node: the last search that visited it
    /// A search from one place that found one call. Most runs take the same way again.
    struct Found {
        std::uint32_t place = kNone;
        std::uint32_t id = kNone;
        std::uint32_t node = 0;
        bool is_next = false;
    };
    std::array<Found, 16> found_;  // by place
    std::uint32_t search_number_ = 0;
    std::uint32_t last_site_ = 0;
    std::uint64_t steps_ = 0;
    bool forgot_places_ = false;  // the run may be elsewhere, until a name with a single site
    bool lost_ = false;
    bool said_so_ = false;
};

}  // namespace aoti_dbg

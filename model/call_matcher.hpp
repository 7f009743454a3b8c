// Tells which call site of the wrapper source a call seen at run time is, by name and order alone.
//
// A run may leave branches out, repeat loops, skip single calls (a grid of zero launches nothing) and make
// calls that no site has. So the matcher walks the body's flow along the cheapest way from where the run may
// be to a site of that name: staying on the way costs nothing, leaving out a launch little, leaving out
// another call more. Where several places are equally good it keeps them all in mind until a later call
// decides. The straight case is one comparison; any other is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/wrapper_info.hpp"

namespace aoti_dbg {

/// The flow of one body, made ready for walking. Read-only: threads may share it.
class CallPlan {
  public:
    explicit CallPlan(const RunBody& body);

    /// The number of a name (CallSite::key), to be asked once and kept; kNone if no site has it.
    [[nodiscard]] std::uint32_t id_of(std::string_view key) const;
    [[nodiscard]] std::size_t sites() const { return node_of_site_.size(); }

  private:
    friend class CallMatcher;
    class Builder;

    struct Node {
        enum class Kind : std::uint8_t { call, fork, jump, end };
        Kind kind = Kind::end;
        std::uint8_t skip_cost = 0;  // of a call
        bool is_only = false;        // the only one of its name
        std::uint32_t site = kNone;
        std::uint32_t id = kNone;     // of a call: its name
        std::uint32_t other = kNone;  // of a fork, where else it leads; of a jump, where it leads
    };
    std::vector<Node> nodes_;
    std::map<std::string, std::uint32_t, std::less<>> ids_;
    std::vector<std::vector<std::uint32_t>> sites_of_id_;
    std::vector<std::uint32_t> node_of_site_;
};

/// Follows one run at a time; one thread's. `plan` must outlive it.
class CallMatcher {
  public:
    struct Match {
        std::uint32_t site = kNone;
        bool is_certain = false;  // false: another site is as good
        bool is_next = false;     // no call that is seen at run time was left out before it
    };

    explicit CallMatcher(const CallPlan& plan);

    void begin_run();
    /// The site of a call of that name. A name that no site has changes nothing.
    Match match(std::uint32_t id);
    /// True once, after no way led to a call and it had to be found by its name alone.
    bool take_lost();
    /// Nodes looked at so far; tests bound it.
    [[nodiscard]] std::uint64_t steps() const { return steps_; }

  private:
    /// What the way costs that leads to `candidates_`; nothing where none does.
    std::optional<std::size_t> search(std::uint32_t id);
    void expand(std::uint32_t node, std::uint32_t id, std::size_t cost);
    Match close_unwound_calls(bool is_next);
    Match jump_by_name(std::uint32_t id);

    const CallPlan& plan_;
    std::vector<std::uint32_t> places_;      // nodes that may come next; the best first
    std::vector<std::uint32_t> candidates_;  // calls found by the search
    std::vector<std::uint32_t> fronts_[3];   // nodes to look at, by cost modulo 3: no step costs more than 2
    std::vector<std::uint32_t> seen_;        // by node: the search that saw it
    std::uint32_t search_number_ = 0;
    std::uint32_t last_site_ = 0;
    std::uint64_t steps_ = 0;
    bool forgot_places_ = false;  // the run may be elsewhere: until a name that only one site has
    bool lost_ = false;
    bool said_so_ = false;
};

}  // namespace aoti_dbg

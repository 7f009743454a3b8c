#include "model/call_matcher.hpp"

#include <algorithm>

namespace aoti_dbg {
namespace {

/// The most nodes of a search. Each skipped branch costs one, and no model has that many in a row.
constexpr std::size_t kMaxSearch = 4096;
/// The most places to keep.
constexpr std::size_t kMaxPlaces = 16;

/// The cost of assuming that a call was skipped.
std::uint8_t skip_cost(SiteKind kind) {
    switch (kind) {
        case SiteKind::copy:
            return 0;  // some copies are not intercepted
        case SiteKind::triton:
        case SiteKind::user_triton:
            return 1;  // a grid of zero
        default:
            return 2;
    }
}

}  // namespace

class CallPlan::Builder {
  public:
    Builder(CallPlan& plan, const RunBody& body) : plan_(plan), body_(body) {}

    void build() {
        plan_.node_of_site_.assign(body_.sites.size(), kNone);
        for (const FlowStep& step : body_.flow) {
            take(step);
        }
        while (!open_.empty()) {
            close();
        }
        add(Node::Kind::end);
        for (Node& node : plan_.nodes_)
            node.is_only = node.kind == Node::Kind::call && plan_.sites_of_id_[node.id].size() == 1;
    }

  private:
    /// A branch or loop whose end was not reached yet.
    struct Open {
        bool is_loop = false;
        std::uint32_t head = 0;              // start of a loop
        std::uint32_t fork = kNone;          // leads to the next arm, or past the end
        std::vector<std::uint32_t> leaving;  // forks and jumps that lead past the end
    };

    [[nodiscard]] std::uint32_t here() const { return static_cast<std::uint32_t>(plan_.nodes_.size()); }

    std::uint32_t add(Node::Kind kind, std::uint32_t other = kNone) {
        Node node;
        node.kind = kind;
        node.other = other;
        plan_.nodes_.push_back(node);
        return here() - 1;
    }

    Open* innermost_loop() { return loops_.empty() ? nullptr : &open_[loops_.back()]; }

    void take(const FlowStep& step) {
        switch (step.kind) {
            case FlowStep::Kind::call:
                call(step.value);
                break;
            case FlowStep::Kind::branch:
                open_.emplace_back();
                open_.back().fork = add(Node::Kind::fork);
                break;
            case FlowStep::Kind::other:
                if (!open_.empty() && !open_.back().is_loop) other_arm(step.value != 0);
                break;
            case FlowStep::Kind::loop:
                loops_.push_back(open_.size());
                open_.emplace_back();
                open_.back().is_loop = true;
                open_.back().head = here();
                if (step.value == 0) open_.back().fork = add(Node::Kind::fork);
                break;
            case FlowStep::Kind::leave:
                if (Open* const loop = innermost_loop()) loop->leaving.push_back(add(Node::Kind::fork));
                break;
            case FlowStep::Kind::repeat:
                if (const Open* const loop = innermost_loop()) add(Node::Kind::fork, loop->head);
                break;
            case FlowStep::Kind::end_branch:
            case FlowStep::Kind::end_loop:
                if (!open_.empty()) close();
                break;
        }
    }

    void call(std::uint32_t site) {
        if (site >= body_.sites.size()) return;
        const CallSite& called = body_.sites[site];
        const auto fresh = static_cast<std::uint32_t>(plan_.sites_of_id_.size());
        const auto id = plan_.ids_.emplace(called.key, fresh).first;
        if (id->second == fresh) plan_.sites_of_id_.emplace_back();
        plan_.sites_of_id_[id->second].push_back(site);
        plan_.node_of_site_[site] = here();
        Node& node = plan_.nodes_[add(Node::Kind::call)];
        node.skip_cost = skip_cost(called.kind);
        node.site = site;
        node.id = id->second;
    }

    void other_arm(bool is_conditional) {
        Open& branch = open_.back();
        branch.leaving.push_back(add(Node::Kind::jump));
        if (branch.fork != kNone) plan_.nodes_[branch.fork].other = here();
        branch.fork = is_conditional ? add(Node::Kind::fork) : kNone;
    }

    void close() {
        Open& ended = open_.back();
        if (ended.is_loop) {
            add(Node::Kind::jump, ended.head);
            loops_.pop_back();
        }
        if (ended.fork != kNone) plan_.nodes_[ended.fork].other = here();
        for (const std::uint32_t node : ended.leaving) {
            plan_.nodes_[node].other = here();
        }
        open_.pop_back();
    }

    CallPlan& plan_;
    const RunBody& body_;
    std::vector<Open> open_;
    std::vector<std::size_t> loops_;  // indices of loops in `open_`
};

CallPlan::CallPlan(const RunBody& body) {
    Builder(*this, body).build();
}

std::uint32_t CallPlan::id_of(std::string_view key) const {
    const auto found = ids_.find(key);
    return found == ids_.end() ? kNone : found->second;
}

CallMatcher::CallMatcher(const CallPlan& plan) : plan_(plan), seen_(plan.nodes_.size(), 0) {
    begin_run();
}

void CallMatcher::begin_run() {
    places_.assign(1, 0);
    expected_ = plan_.nodes_.data();
    last_site_ = 0;
    forgot_places_ = false;
}

bool CallMatcher::take_lost() {
    if (!lost_ || said_so_) return false;
    said_so_ = true;
    return true;
}

CallMatcher::Match CallMatcher::match_elsewhere(std::uint32_t id) {
    if (id >= plan_.sites_of_id_.size()) return {};
    const std::uint32_t place = places_.size() == 1 ? places_[0] : kNone;
    Found& known = found_[place % found_.size()];
    if (place != kNone && known.place == place && known.id == id)
        return take(plan_.nodes_[known.node], known.node, known.is_next);
    const std::optional<std::size_t> cost = search(id);
    if (!cost) return jump_by_name(id);
    // A search that gave up has found one of several places.
    const bool is_only_place = place != kNone && candidates_.size() == 1 && !forgot_places_;
    if (is_only_place) known = {place, id, candidates_[0], *cost == 0};
    return finish_match(*cost == 0);
}

/// Fills `candidates_` with the cheapest calls of that name.
std::optional<std::size_t> CallMatcher::search(std::uint32_t id) {
    if (++search_number_ == 0) {  // the counter wrapped around
        std::fill(seen_.begin(), seen_.end(), 0);
        search_number_ = 1;
    }
    candidates_.clear();
    for (std::vector<std::uint32_t>& front : fronts_) {
        front.clear();
    }
    fronts_[0] = places_;
    std::size_t inspected = 0;
    for (std::size_t cost = 0, idle = 0; idle < 3; ++cost) {
        std::vector<std::uint32_t>& front = fronts_[cost % 3];
        idle = front.empty() ? idle + 1 : 0;
        for (std::size_t at = 0; at < front.size(); ++at) {  // expand() may extend it
            const std::uint32_t node = front[at];
            if (seen_[node] == search_number_) continue;
            seen_[node] = search_number_;
            ++steps_;
            if (++inspected > kMaxSearch) {
                forgot_places_ = true;
                return candidates_.empty() ? std::nullopt : std::optional(cost);
            }
            expand(node, id, cost);
        }
        front.clear();
        if (!candidates_.empty()) return cost;
    }
    return std::nullopt;
}

void CallMatcher::expand(std::uint32_t node, std::uint32_t id, std::size_t cost) {
    const CallPlan::Node& here = plan_.nodes_[node];
    switch (here.kind) {
        case CallPlan::Node::Kind::call:
            if (here.id == id) {
                candidates_.push_back(node);
            } else {
                fronts_[(cost + here.skip_cost) % 3].push_back(node + 1);
            }
            break;
        case CallPlan::Node::Kind::fork:
            fronts_[cost % 3].push_back(node + 1);
            if (here.other != kNone) fronts_[cost % 3].push_back(here.other);
            break;
        case CallPlan::Node::Kind::jump:
            if (here.other != kNone) fronts_[cost % 3].push_back(here.other);
            break;
        case CallPlan::Node::Kind::end:
            break;
    }
}

/// Takes the first candidate and continues after all of them.
CallMatcher::Match CallMatcher::finish_match(bool is_next) {
    if (candidates_.size() > kMaxPlaces) {
        candidates_.resize(kMaxPlaces);
        forgot_places_ = true;
    }
    places_.clear();
    for (const std::uint32_t node : candidates_) {
        places_.push_back(node + 1);
    }
    expected_ = places_.size() == 1 ? &plan_.nodes_[places_[0]] : nullptr;
    const CallPlan::Node& best = plan_.nodes_[candidates_[0]];
    if (best.is_only) forgot_places_ = false;
    last_site_ = best.site;
    const bool is_certain = candidates_.size() == 1 && !forgot_places_;
    return {last_site_, is_certain, is_certain && is_next};
}

/// No path leads to the call, so the run is not where it was expected. Uses the nearest call of that name.
CallMatcher::Match CallMatcher::jump_by_name(std::uint32_t id) {
    lost_ = true;
    const std::vector<std::uint32_t>& sites = plan_.sites_of_id_[id];
    auto nearest = std::lower_bound(sites.begin(), sites.end(), last_site_);
    if (nearest == sites.end() ||
        (nearest != sites.begin() && last_site_ - *(nearest - 1) < *nearest - last_site_)) {
        --nearest;
    }
    candidates_.assign(1, plan_.node_of_site_[*nearest]);
    forgot_places_ = true;
    return finish_match(false);
}

}  // namespace aoti_dbg

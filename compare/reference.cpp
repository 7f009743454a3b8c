#include "compare/reference.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compare/element_order.hpp"

namespace aoti_dbg::compare {
namespace {

std::uint64_t elements_of(const RecordedTensor& tensor) {
    return tensor.tensor == nullptr || !tensor.tensor->sizes_known ? 0 : element_count(tensor.tensor->sizes);
}

/// The results of the nodes of a graph, and its weights.
class Graph {
  public:
    struct Node {
        std::size_t order = 0;
        std::vector<const RecordedTensor*> results;
    };
    /// Results of nodes that come after one node and before another.
    struct Window {
        std::size_t after = 0;
        std::size_t before = ~std::size_t{0};
    };

    explicit Graph(const RecordedRun& run) : run_(&run) {
        for (const RecordedCall& call : run.calls) {
            for (const RecordedTensor& tensor : call.before)
                weights_[tensor.facts->original_fqn] = &tensor;
            if (call.site->source_nodes.empty()) continue;
            Node& node = nodes_[call.site->source_nodes.front()];
            node.order = nodes_.size();
            for (const RecordedTensor& tensor : call.after) {
                node.results.push_back(&tensor);
                places_[&tensor] = {node.order, &call.site->symbol};
                results_.push_back(&tensor);
            }
        }
    }

    [[nodiscard]] const RecordedRun& run() const { return *run_; }
    [[nodiscard]] const Node* node(std::string_view name) const {
        const auto found = nodes_.find(name);
        return found == nodes_.end() ? nullptr : &found->second;
    }
    [[nodiscard]] const RecordedTensor* weight(std::string_view fqn) const {
        const auto found = weights_.find(fqn);
        return found == weights_.end() ? nullptr : found->second;
    }
    /// The module that a result's node belongs to: "layers.3.fc".
    [[nodiscard]] const std::string& module_of(const RecordedTensor& result) const {
        return *places_.at(&result).module;
    }
    /// The place of a result's node, from 1; 0 for inputs and weights.
    [[nodiscard]] std::size_t order_of(const RecordedTensor& result) const {
        const auto found = places_.find(&result);
        return found == places_.end() ? 0 : found->second.order;
    }
    /// All results with so many elements.
    [[nodiscard]] std::vector<const RecordedTensor*> results(std::uint64_t elements,
                                                             const Window& within) const {
        std::vector<const RecordedTensor*> found;
        for (const RecordedTensor* const result : results_) {
            const std::size_t order = order_of(*result);
            if (elements_of(*result) == elements && order > within.after && order < within.before)
                found.push_back(result);
        }
        return found;
    }
    /// How many of the run's nodes it has.
    [[nodiscard]] std::size_t common_with(const RecordedRun& run) const {
        std::size_t common = 0;
        for (const RecordedCall& call : run.calls)
            common += static_cast<std::size_t>(std::ranges::count_if(
                call.site->source_nodes, [&](const std::string& name) { return node(name) != nullptr; }));
        return common;
    }

  private:
    struct Place {
        std::size_t order = 0;
        const std::string* module = nullptr;
    };
    const RecordedRun* run_;
    std::unordered_map<std::string_view, Node> nodes_;
    std::unordered_map<std::string_view, const RecordedTensor*> weights_;
    std::unordered_map<const RecordedTensor*, Place> places_;
    std::vector<const RecordedTensor*> results_;
};

class Matcher {
  public:
    Matcher(const RecordedRun& run, const Graph& graph, const Evidence& evidence)
        : run_(run), graph_(graph), evidence_(evidence) {
        evidence_.rule.kind = RuleKind::derived;
        for (std::size_t i = 0; i < run.calls.size(); ++i)
            for (const std::string& node : run.calls[i].site->source_nodes)
                last_call_[node] = i;
    }

    ReferencePartner partner() {
        RecordedRun& result = partner_.run;
        result.run = graph_.run().run;
        result.model = run_.model;
        result.model_name = run_.model_name;
        result.has_inputs = result.has_outputs = true;
        result.inputs = graph_.run().inputs;
        result.outputs = graph_.run().outputs;
        know_inputs();
        partner_.own = run_;
        for (std::size_t i = 0; i < run_.calls.size(); ++i)
            result.calls.push_back(partner_of_call(i, partner_.own.calls[i].after));
        return std::move(partner_);
    }

  private:
    /// Calls refer to the inputs of the run by their labels.
    void know_inputs() {
        std::vector<const RecordedTensor*> ours;
        std::vector<const RecordedTensor*> theirs;
        for (const RecordedTensor& input : run_.inputs)
            if (input.tensor != nullptr) ours.push_back(&input);
        for (const RecordedTensor& input : graph_.run().inputs)
            if (input.tensor != nullptr) theirs.push_back(&input);
        for (std::size_t i = 0; i < ours.size() && ours.size() == theirs.size(); ++i)
            know(*ours[i], theirs[i]);
    }

    /// `own` are the call's arguments after it.
    RecordedCall partner_of_call(std::size_t number, std::vector<RecordedTensor>& own) {
        RecordedCall partner = run_.calls[number];
        for (RecordedTensor& tensor : partner.before)
            if (tensor.tensor != nullptr) replace(tensor, known(tensor));
        used_.clear();
        std::vector<RecordedTensor> ours;
        std::vector<RecordedTensor> theirs;
        const std::string* module = nullptr;
        for (RecordedTensor& tensor : partner.after) {
            const bool is_written = is_output(tensor);
            const RecordedTensor* const match = is_written ? result_of(tensor, number) : nullptr;
            if (is_written) know(tensor, match);
            if (match == nullptr) continue;
            if (module == nullptr) module = &graph_.module_of(*match);
            ours.push_back(tensor);
            replace(tensor, match);
            theirs.push_back(tensor);
        }
        partner.has_after = partner.has_after && module != nullptr;
        if (module != nullptr && !module->empty()) {
            SiteFacts& site = partner_.sites.emplace_back(*partner.site);
            site.symbol = *module;
            partner.site = &site;
        }
        own = std::move(ours);
        partner.after = std::move(theirs);
        return partner;
    }

    void know(const RecordedTensor& tensor, const RecordedTensor* match) {
        known_[tensor.facts->label] = match;
        if (tensor.address != 0) by_address_[tensor.address] = match;
        written_[match] = tensor.tensor;
    }

    /// What the tensor was when it was last seen. Another label may be an alias of the same memory.
    [[nodiscard]] const RecordedTensor* known(const RecordedTensor& tensor) const {
        if (tensor.tensor->bits.conjugate || tensor.tensor->bits.negative) return nullptr;
        const RecordedTensor* found = graph_.weight(tensor.facts->original_fqn);
        const auto label = known_.find(tensor.facts->label);
        const auto address = by_address_.find(tensor.address);
        if (found == nullptr && label != known_.end()) found = label->second;
        if (found == nullptr && label == known_.end() && address != by_address_.end())
            found = address->second;
        return found != nullptr && elements_of(*found) == elements_of(tensor) ? found : nullptr;
    }

    /// The nodes that a call without nodes can have computed: after those of its inputs, and before the next
    /// node that another call computes.
    [[nodiscard]] Graph::Window window_of(std::size_t number) const {
        Graph::Window window;
        for (const RecordedTensor& tensor : run_.calls[number].before) {
            const RecordedTensor* const input =
                tensor.tensor == nullptr || tensor.is_unwritten ? nullptr : known(tensor);
            if (input != nullptr) window.after = std::max(window.after, graph_.order_of(*input));
        }
        for (std::size_t next = number + 1; next < run_.calls.size(); ++next) {
            std::size_t last = 0;
            for (const std::string& name : run_.calls[next].site->source_nodes)
                if (const Graph::Node* const node = graph_.node(name); node != nullptr)
                    last = std::max(last, node->order);
            if (last == 0) continue;
            window.before = last;
            break;
        }
        return window;
    }

    /// The results of the call's nodes that may be this tensor, the last one first.
    [[nodiscard]] std::vector<const RecordedTensor*> candidates_for(const RecordedTensor& tensor,
                                                                    std::size_t number) const {
        std::vector<const Graph::Node*> nodes;
        for (const std::string& name : run_.calls[number].site->source_nodes)
            if (const Graph::Node* const node = graph_.node(name); node != nullptr) nodes.push_back(node);
        std::ranges::sort(nodes, [](const Graph::Node* one, const Graph::Node* other) {
            return one->order > other->order;
        });
        std::vector<const RecordedTensor*> candidates;
        for (const Graph::Node* const node : nodes)
            for (const RecordedTensor* const result : node->results)
                if (elements_of(*result) == elements_of(tensor)) candidates.push_back(result);
        return candidates;
    }

    /// Whether no later call has the result's node.
    [[nodiscard]] bool ends_at(const RecordedTensor& result, std::size_t number) const {
        const std::string& label = result.facts->label;
        const auto call = last_call_.find(label.substr(0, label.find('[')));
        return call != last_call_.end() && call->second == number;
    }

    /// Whether rounding explains the difference, generously.
    bool is_within_rounding(const RecordedTensor& tensor, const RecordedTensor& result, std::size_t number) {
        RecordedTensor other = tensor;
        replace(other, &result);
        RecordedCall theirs;
        theirs.after.push_back(other);
        Rounding rounding = rounding_of(run_.calls[number], theirs);
        rounding.unit *= 4;
        return compare(tensor, other, evidence_).spread.is_within(allowed_after(rounding, tensor, {}));
    }

    /// Whether a part of the node's computation is only similar to its result, which this call or a later
    /// one writes.
    bool is_better_elsewhere(const RecordedTensor& tensor, const RecordedTensor& result, std::size_t number) {
        if (is_within_rounding(tensor, result, number)) return false;
        const std::vector<RecordedTensor>& after = run_.calls[number].after;
        return !ends_at(result, number) || std::ranges::any_of(after, [&](const RecordedTensor& other) {
            return other.tensor != nullptr && other.address != tensor.address &&
                   elements_of(other) == elements_of(result) && is_within_rounding(other, result, number);
        });
    }

    /// The result that the call wrote to the tensor: one of its nodes, or if it has none, one with these
    /// contents. Contents that fit no node are wrong, unless a later call goes on with the node.
    const RecordedTensor* result_of(const RecordedTensor& tensor, std::size_t number) {
        const std::vector<const RecordedTensor*> candidates = candidates_for(tensor, number);
        const RecordedTensor* found = most_alike(tensor, candidates);
        if (found != nullptr && is_better_elsewhere(tensor, *found, number)) found = nullptr;
        if (found == nullptr && run_.calls[number].site->source_nodes.empty())
            found = most_alike(tensor, graph_.results(elements_of(tensor), window_of(number)));
        if (found == nullptr && !candidates.empty()) {
            const RecordedTensor* const last = candidates.front();
            if (ends_at(*last, number) && !used_.contains(last)) found = last;
        }
        if (found != nullptr) used_.insert(found);
        return found;
    }

    /// The candidate with nearly the same contents, if there is one, and no other is nearly as close.
    const RecordedTensor* most_alike(const RecordedTensor& tensor,
                                     const std::vector<const RecordedTensor*>& candidates) {
        constexpr double kClearly = 4;
        std::vector<std::pair<double, const RecordedTensor*>> alike;
        for (const RecordedTensor* const candidate : candidates)
            if (const std::optional<double> apart = apart_if_alike(tensor, *candidate); apart)
                alike.emplace_back(*apart, candidate);
        if (alike.empty()) return nullptr;
        const auto [least, found] = *std::ranges::min_element(alike);
        const bool is_clear =
            std::ranges::all_of(alike, [&, least = least, found = found](const auto& other) {
                return other.second == found || other.first >= kClearly * least ||
                       apart(spread_of(found->statistics, other.second->statistics)) <= least;
            });
        return is_clear ? found : nullptr;
    }

    static double apart(const Spread& spread) { return spread.shift + spread.range + spread.typical; }

    /// How far both are apart, if that is not much.
    std::optional<double> apart_if_alike(const RecordedTensor& tensor, const RecordedTensor& candidate) {
        constexpr Spread kAlike{0.05, 0.1, 0.1, 1, true};
        const bool have_statistics = tensor.is_measured && candidate.is_measured;
        if (have_statistics && !spread_of(tensor.statistics, candidate.statistics).is_within(kAlike))
            return std::nullopt;  // do not read its elements
        RecordedTensor other = tensor;
        replace(other, &candidate);
        const Compared compared = compare(tensor, other, evidence_);
        if (compared.agreement == Agreement::unknown || !compared.spread.is_within(kAlike))
            return std::nullopt;
        return apart(compared.spread);
    }

    /// Replaces what the run knows of a tensor by what the reference knows. Without a match, nothing is
    /// known.
    void replace(RecordedTensor& tensor, const RecordedTensor* match) {
        if (match == nullptr) {
            tensor.is_measured = false;
            tensor.run = ~0U;
            return;
        }
        ArgumentFacts& facts = partner_.arguments.emplace_back(*tensor.facts);
        facts.label = match->facts->label;  // its file has this name
        TensorFacts& shape = partner_.tensors.emplace_back(*match->tensor);
        shape.sizes = tensor.tensor->sizes;  // a view of the same elements
        const auto written = written_.find(match);
        const Order order = graph_.order_of(*match) == 0
                                ? order_of_given(*tensor.tensor, *match->tensor)
                                : order_of_result(*tensor.tensor, *match->tensor,
                                                  written == written_.end() ? nullptr : written->second);
        if (order == Order::permuted) shape.strides = tensor.tensor->strides;
        const bool is_unwritten = tensor.is_unwritten;
        tensor = *match;
        tensor.facts = &facts;
        tensor.tensor = &shape;
        tensor.is_unwritten = is_unwritten;
        if (order != Order::same) tensor.values.clear();
        if (order == Order::unknown) tensor.run = ~0U;  // its file has another order
    }

    const RecordedRun& run_;
    const Graph& graph_;
    Evidence evidence_;
    ReferencePartner partner_;
    std::unordered_map<std::string_view, const RecordedTensor*> known_;  // by label of the run
    std::unordered_map<std::uint64_t, const RecordedTensor*> by_address_;
    std::unordered_map<const RecordedTensor*, const TensorFacts*>
        written_;                                             // the layout that the run gave it
    std::unordered_map<std::string, std::size_t> last_call_;  // of a node
    std::unordered_set<const RecordedTensor*> used_;          // by the current call
};

}  // namespace

ReferencePartner partner_of(const RecordedRun& run, const std::vector<RecordedRun>& graphs,
                            const Evidence& evidence) {
    std::vector<Graph> known(graphs.begin(), graphs.end());
    const auto best =
        std::ranges::max_element(known, {}, [&](const Graph& graph) { return graph.common_with(run); });
    return Matcher(run, *best, evidence).partner();
}

}  // namespace aoti_dbg::compare

#include "compare/comparison.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "compare/reference.hpp"

namespace aoti_dbg::compare {
namespace {

bool counts(const Scope& scope, const RecordedCall& call) {
    return scope.calls == nullptr || scope.calls(*call.site);
}

bool counts(const Scope& scope, const RecordedRun& run) {
    return scope.runs == nullptr || scope.runs(run.run);
}

void add_beginning(const RecordedRun& first, const RecordedRun& second, const Aligned& pair,
                   const CallDivergence& found, const Beginning& so_far, const Method& method,
                   Comparison& to) {
    ++to.diverge;
    if (to.beginnings.size() >= method.most_beginnings) return;
    Beginning& added = to.beginnings.emplace_back(so_far);
    const RecordedCall& call = first.calls[pair.first];
    added.run = first.run;
    added.other_run = second.run;
    added.call = call.call;
    added.other_call = second.calls[pair.second].call;
    added.model_name = first.model_name;
    added.other_model = second.model;
    added.site = *call.site;
    const SiteFacts& partner = *second.calls[pair.second].site;
    if (method.outputs_suffice && partner.symbol != call.site->symbol) added.module = partner.symbol;
    added.origin = found.origin;
    added.inputs = found.inputs;
    added.last_equal = found.last_equal;
    added.side = found.origin == Origin::call ? EventSide::after : EventSide::before;
    added.has_tensor = found.tensor.has_value();
    if (!found.tensor) return;
    added.first = *found.tensor->first;
    added.second = *found.tensor->second;
    added.grade = found.tensor->compared.grade;
    added.elements = found.tensor->compared.elements;
    added.spread = found.tensor->compared.spread;
    added.allowed = found.allowed;
}

void add_without_partner(const RecordedCall& call, std::uint64_t& count, std::vector<std::string>& names) {
    ++count;
    if (names.size() < kMostListed) names.push_back(call.site->kernel);
}

void add_call(const CallDivergence& found, const Method& method, Beginning& so_far, Comparison& to) {
    ++to.calls;
    const bool outputs_suffice = found.inputs == Agreement::unknown && method.outputs_suffice;
    const Agreement agreement = outputs_suffice ? found.outputs : weaker(found.inputs, found.outputs);
    to.other_bits += found.bits_differ ? 1 : 0;
    if (found.verdict == CallVerdict::follows) ++to.follow;
    if (found.verdict == CallVerdict::absorbs) ++to.absorb;
    if (found.verdict == CallVerdict::unknown) ++to.unknown;
    if (found.verdict != CallVerdict::equal) return;
    if (agreement == Agreement::unknown) ++to.unknown;
    if (agreement == Agreement::equal) {
        ++to.equal;
        ++so_far.equal_before;
    }
    if (agreement == Agreement::close) {
        ++to.close;
        ++so_far.close_before;
    }
    if (agreement == Agreement::not_seen) {
        ++to.not_seen;
        ++so_far.seen_before;
    }
}

void add_ends(const RecordedRun& first, const RecordedRun& second, const RunDivergence& found,
              Comparison& to) {
    to.runs_with_other_inputs += found.all_inputs == Agreement::different ? 1 : 0;
    to.runs_with_other_outputs += found.all_outputs == Agreement::different ? 1 : 0;
    const Agreement ends = weaker(found.all_inputs, found.all_outputs);
    to.runs_with_close_ends += ends == Agreement::close ? 1 : 0;
    to.runs_with_seen_ends += ends <= Agreement::not_seen ? 1 : 0;
    to.runs_with_unproven_ends += ends > Agreement::close ? 1 : 0;
    to.runs_without_outputs += first.has_outputs && second.has_outputs ? 0 : 1;
    to.runs_by_derived_rule += found.rule == RuleKind::derived ? 1 : 0;
    for (const TensorPair& pair : found.inputs) {
        if (to.inputs.size() >= kMostListed) break;
        to.inputs.push_back(
            {first.run, *pair.first, *pair.second, pair.compared.grade, pair.compared.elements});
    }
}

constexpr std::size_t kMostWaiting = 256;
constexpr std::size_t kMostPending = 8;

/// Pairs the runs of two recordings, by model and number if the models have the same name. Threads end their
/// runs in any order.
class Pairs {
  public:
    explicit Pairs(const Method& method) : method_(method) {
        result_.rule = method.evidence.rule;
        method_.evidence.known = &known_;
        const RuleKind kind = method.evidence.rule.kind;
        if (kind == RuleKind::automatic || kind == RuleKind::derived)
            method_.evidence.repetitions = &repetitions_;
    }

    Comparison compared(RunReader& first, RunReader& second) {
        bool has_more = true;
        while (has_more) {
            has_more = false;
            for (const auto& [reader, waiting] : {std::pair(&first, &ours_), std::pair(&second, &theirs_)}) {
                const std::optional<Key> key = take(*reader, *waiting);
                if (key) pair_by_number(*key);
                has_more = has_more || key.has_value();
            }
            pair_by_order(kMostWaiting);
            drop_oldest(ours_, result_.only_first_runs);
            drop_oldest(theirs_, result_.only_second_runs);
        }
        pair_by_order(0);
        judge_pending(0);
        result_.only_first_runs += ours_.size();
        result_.only_second_runs += theirs_.size();
        return std::move(result_);
    }

  private:
    using Key = std::pair<std::uint32_t, std::uint32_t>;  // model and number
    using Waiting = std::map<Key, RecordedRun>;

    /// Adds the next run that counts. Returns its key, or nothing if there is none.
    std::optional<Key> take(RunReader& from, Waiting& to) const {
        std::optional<RecordedRun> run = from.next();
        while (run && !counts(method_.scope, *run))
            run = from.next();
        if (!run) return std::nullopt;
        const Key key{run->model, run->run};
        to.insert_or_assign(key, std::move(*run));
        return key;
    }

    void pair_by_number(const Key& key) {
        const auto one = ours_.find(key);
        const auto other = theirs_.find(key);
        if (one == ours_.end() || other == theirs_.end() ||
            one->second.model_name != other->second.model_name)
            return;
        judge_later(one->second, other->second);
        ours_.erase(one);
        theirs_.erase(other);
    }

    /// Pairs the oldest runs until so many wait at most: those of a model with the same name, then those of a
    /// model with the same number, because another build may have another name.
    void pair_by_order(std::size_t most) {
        pair_alike(most, [](const auto& one, const auto& other) {
            return one.second.model_name == other.second.model_name;
        });
        pair_alike(most,
                   [](const auto& one, const auto& other) { return one.first.first == other.first.first; });
    }

    template <typename Alike>
    void pair_alike(std::size_t most, Alike alike) {
        for (auto run = ours_.begin();
             run != ours_.end() && (ours_.size() > most || theirs_.size() > most);) {
            const auto partner =
                std::ranges::find_if(theirs_, [&](const auto& other) { return alike(*run, other); });
            if (partner == theirs_.end()) {
                ++run;
                continue;
            }
            judge_later(run->second, partner->second);
            theirs_.erase(partner);
            run = ours_.erase(run);
        }
    }

    /// Judges a pair when some further ones have shown how far equal calls may be apart.
    void judge_later(RecordedRun& first, RecordedRun& second) {
        if (method_.evidence.repetitions != nullptr) {
            repetitions_.first.add(first);
            repetitions_.second.add(second);
        }
        pending_.emplace_back(std::move(first), std::move(second));
        judge_pending(kMostPending);
    }

    void judge_pending(std::size_t most) {
        for (; pending_.size() > most; pending_.pop_front())
            add_runs(pending_.front().first, pending_.front().second, method_, result_);
    }

    static void drop_oldest(Waiting& waiting, std::uint64_t& without_partner) {
        for (; waiting.size() > kMostWaiting; ++without_partner)
            waiting.erase(
                std::ranges::min_element(waiting, {}, [](const auto& one) { return one.first.second; }));
    }

    Method method_;
    Comparison result_;
    RepetitionsOfBoth repetitions_;
    KnownDifferences known_;
    Waiting ours_;
    Waiting theirs_;
    std::deque<std::pair<RecordedRun, RecordedRun>> pending_;
};

void add_runs(const RecordedRun& first, const RecordedRun& second, const RunDivergence& found,
              const Method& method, Comparison& to) {
    ++to.runs;
    add_ends(first, second, found, to);
    Beginning so_far;
    for (std::size_t i = 0; i < found.calls.size(); ++i) {
        const Aligned& pair = found.calls[i];
        const RecordedCall& shown =
            pair.first == kNoPartner ? second.calls[pair.second] : first.calls[pair.first];
        if (!counts(method.scope, shown)) continue;
        if (pair.second == kNoPartner) {
            add_without_partner(shown, to.only_first_calls, to.only_first);
        } else if (pair.first == kNoPartner) {
            add_without_partner(shown, to.only_second_calls, to.only_second);
        } else {
            add_call(found.verdicts[i], method, so_far, to);
            if (found.verdicts[i].verdict == CallVerdict::diverges)
                add_beginning(first, second, pair, found.verdicts[i], so_far, method, to);
        }
    }
}

}  // namespace

void add_runs(const RecordedRun& first, const RecordedRun& second, const Method& method, Comparison& to) {
    add_runs(first, second, diverge(first, second, method.evidence), method, to);
}

Comparison compare_recordings(RunReader& first, RunReader& second, const Method& method) {
    return Pairs(method).compared(first, second);
}

Comparison compare_with_reference(RunReader& first, const std::vector<RecordedRun>& graphs,
                                  const Method& how) {
    Method method = how;
    method.outputs_suffice = true;
    Comparison same;
    same.rule = method.evidence.rule;
    Comparison other = same;  // of runs with other inputs
    while (const std::optional<RecordedRun> run = first.next()) {
        if (!counts(method.scope, *run)) continue;
        const auto partner =
            std::make_shared<const ReferencePartner>(partner_of(*run, graphs, method.evidence));
        const RunDivergence found = diverge(partner->own, partner->run, method.evidence);
        Comparison& to = found.all_inputs <= Agreement::not_seen ? same : other;
        const std::size_t listed = to.beginnings.size() + to.inputs.size();
        add_runs(partner->own, partner->run, found, method, to);
        if (to.beginnings.size() + to.inputs.size() != listed) to.kept.push_back(partner);
    }
    return same.runs == 0 ? other : same;
}

}  // namespace aoti_dbg::compare

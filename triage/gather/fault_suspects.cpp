// See fault_suspects.hpp.
#include "triage/gather/fault_suspects.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "serializer/cuda_error.hpp"
#include "serializer/ended_launches.hpp"
#include "triage/gather/kept_source.hpp"

namespace aoti_dbg {
namespace {

using Lines = std::vector<KernelAssertions::Line>;
constexpr std::size_t kMostAssertions = 8;

/// True for the errors that a device assertion returns, without and with a requested core dump.
bool may_be_assertion(std::int32_t error) {
    return error == 710 || error == 719;
}

/// The kernels with kept sources, by name, with their assertions. Empty if sources of the same name differ in
/// their assertions.
using Kernels = std::map<std::string, std::optional<Lines>>;

Kernels kernels_in(const std::vector<const KeptPackage*>& packages) {
    Kernels kernels;
    for (const KeptPackage* package : packages) {
        for (KernelAssertions& kernel : assertions_in(*package)) {
            const auto [known, is_new] = kernels.emplace(std::move(kernel.name), kernel.lines);
            if (!is_new && known->second != kernel.lines) known->second.reset();
        }
    }
    return kernels;
}

class KernelsByModel {
  public:
    explicit KernelsByModel(const KeptPackages& packages) : packages_(packages) {}

    /// Finds a launch by its name, or without the number that models append for several launches of a kernel.
    /// Null if no source has it.
    [[nodiscard]] const std::optional<Lines>* of(const CrashCall& launch) {
        const Kernels& kernels = of_model(launch.model);
        const std::string kernel = launch.name.substr(0, launch.name.rfind('_'));
        auto known = kernels.find(launch.name);
        if (known == kernels.end() && is_name_of(launch.name, kernel)) known = kernels.find(kernel);
        return known == kernels.end() ? nullptr : &known->second;
    }

  private:
    /// Models with the same packages share an entry.
    const Kernels& of_model(std::uint32_t model) {
        const std::vector<const KeptPackage*> packages = packages_.of(model);
        const auto [known, is_new] = kernels_.try_emplace(packages);
        if (is_new) known->second = kernels_in(packages);
        return known->second;
    }

    const KeptPackages& packages_;
    std::map<std::vector<const KeptPackage*>, Kernels> kernels_;
};

/// Returns the unended launches from before the call returned the error, which may explain it.
std::vector<ring::Call> unended_before(const ring::Contents& ring, const ring::Record& failed) {
    std::vector<ring::Call> launches = unended_launches(ring);
    const auto is_behind = [&failed](const ring::Call& launch) {
        return launch.record->begin_ticks >= failed.end_ticks;
    };
    launches.erase(std::remove_if(launches.begin(), launches.end(), is_behind), launches.end());
    return launches;
}

/// True if the ring may have overwritten similar launches, because one of these is the oldest of its thread.
bool may_have_lost(const ring::Contents& ring, const std::vector<ring::Call>& launches) {
    return std::any_of(ring.threads.begin(), ring.threads.end(), [&](const ring::Thread& thread) {
        if (thread.written <= thread.records.size()) return false;
        const auto oldest =
            std::find_if(thread.records.begin(), thread.records.end(),
                         [](const ring::Record& record) { return ring::is_launch(record.kind); });
        return oldest != thread.records.end() &&
               std::any_of(launches.begin(), launches.end(),
                           [&](const ring::Call& launch) { return launch.record == &*oldest; });
    });
}

/// Returns the launches whose kernels have assertions. Returns none if others may have some too, such as a
/// graph launch, which does not show its kernels.
std::vector<ring::Call> asserting(const KeptPackages& packages, const ring::Contents& ring,
                                  const std::vector<ring::Call>& launches, Evidence& evidence) {
    if (may_have_lost(ring, launches)) return {};
    KernelsByModel kernels(packages);
    std::vector<ring::Call> found;
    const std::optional<Lines>* of_all = nullptr;
    for (const ring::Call& launch : launches) {
        if (launch.record->kind == ring::CallKind::graph) return {};
        const std::optional<Lines>* const lines = kernels.of(recorded_call(ring, launch));
        if (lines == nullptr) {
            ++evidence.without_source;
            continue;
        }
        if (!*lines) return {};
        if ((*lines)->empty()) continue;
        of_all = found.empty() || of_all == lines ? lines : nullptr;
        found.push_back(launch);
    }
    if (of_all == nullptr) return found;
    for (std::size_t i = 0; i < std::min((*of_all)->size(), kMostAssertions); ++i)
        evidence.assertions.push_back({(**of_all)[i].line, (**of_all)[i].text});
    return found;
}

void add_suspects(const std::vector<ring::Call>& launches, bool is_certain, const RecordedCalls& calls,
                  Evidence& evidence) {
    if (launches.size() == 1) {
        evidence.faulted = calls.details(launches.front());
        evidence.faulted->is_likely = !is_certain;
        return;
    }
    for (std::size_t i = 0; i < std::min(launches.size(), kMostUnended); ++i)
        evidence.suspects.push_back(calls.launch_details(launches[i]));
    evidence.suspect_count = launches.size();
}

}  // namespace

std::optional<ring::Call> find_suspects(const KeptPackages& packages, const ring::Contents& ring,
                                        const RecordedCalls& calls, Evidence& evidence) {
    const std::optional<ring::Call> failed = calls.failed();
    const bool is_reported = evidence.device || evidence.hang || evidence.failed_alone;
    const bool has_failed = failed && returns_cuda_error(failed->record->kind) &&
                            ends_context(failed->record->result) && may_come_of_lost_context(evidence);
    if (is_reported || !has_failed) return std::nullopt;
    FaultSuspects found = fault_suspects(ring);
    evidence.by_markers = !found.launches.empty();
    if (!evidence.by_markers) {
        const std::vector<ring::Call> unended = unended_before(ring, *failed->record);
        evidence.unended_count = unended.size();
        for (std::size_t i = 0; i < std::min(unended.size(), kMostUnended); ++i)
            evidence.unended.push_back(calls.launch_details(unended[i]));
        if (may_be_assertion(failed->record->result))
            found.launches = asserting(packages, ring, unended, evidence);
        evidence.by_assertion = !found.launches.empty();
    }
    if (found.launches.empty()) return std::nullopt;
    add_suspects(found.launches, evidence.by_markers && found.is_certain, calls, evidence);
    return evidence.faulted ? std::optional(found.launches.front()) : std::nullopt;
}

}  // namespace aoti_dbg

// See fault_suspects.hpp.
#include "cli/fault_suspects.hpp"

#include <algorithm>
#include <vector>

#include "cli/kept_source.hpp"
#include "serializer/ended_launches.hpp"

namespace aoti_dbg::cli {
namespace {

/// What an assertion comes back as, by itself and where a core dump was asked for.
bool may_be_assertion(std::int32_t error) {
    return error == 710 || error == 719;
}

/// The call that returned the error, and none behind it, can have been told of what had not ended.
std::vector<ring::Call> unended_before(const ring::Contents& ring, std::uint64_t sequence) {
    std::vector<ring::Call> launches = unended_launches(ring);
    const auto behind = std::find_if(launches.begin(), launches.end(), [sequence](const ring::Call& launch) {
        return launch.record->seq >= sequence;
    });
    launches.erase(behind, launches.end());
    return launches;
}

void tell_suspects(const std::vector<ring::Call>& launches, bool is_certain, const RecordedCalls& calls,
                   CrashReport& report) {
    if (launches.size() == 1) {
        report.faulted = calls.told(launches.front());
        report.faulted->is_likely = !is_certain;
        return;
    }
    for (std::size_t i = 0; i < std::min(launches.size(), kMostUnended); ++i)
        report.suspects.push_back(calls.told_launch(launches[i]));
    report.suspect_count = launches.size();
}

/// Those whose kernels assert. What a graph runs is not told by its launch, so that with one nobody knows.
std::vector<ring::Call> asserting(const std::string& folder, const std::vector<ring::Call>& launches,
                                  const RecordedCalls& calls, CrashReport& report) {
    const std::vector<AssertingKernel> kernels = kept_asserting_kernels(folder);
    std::vector<ring::Call> found;
    const AssertingKernel* of_all = nullptr;
    bool is_one_kernel = true;
    for (const ring::Call& launch : launches) {
        if (launch.record->kind == ring::CallKind::graph) return {};
        const std::string name = calls.told(launch).name;
        const auto kernel = std::find_if(kernels.begin(), kernels.end(), [&name](const AssertingKernel& one) {
            return is_name_of(name, one.name);
        });
        if (kernel == kernels.end()) continue;
        is_one_kernel = is_one_kernel && (of_all == nullptr || of_all->name == kernel->name);
        of_all = &*kernel;
        found.push_back(launch);
    }
    if (of_all != nullptr && is_one_kernel)
        for (const AssertingKernel::Line& line : of_all->lines)
            report.assertions.push_back({line.line, line.text});
    return found;
}

}  // namespace

std::optional<ring::Call> find_suspects(const std::string& folder, const ring::Contents& ring,
                                        const RecordedCalls& calls, CrashReport& report) {
    const bool is_told = report.device || report.hang || report.failed_alone;
    const bool has_failed = report.failed && returns_cuda_error(report.failed->kind) &&
                            ends_context(report.failed->result) && may_come_of_lost_context(report);
    if (is_told || !has_failed) return std::nullopt;
    FaultSuspects found = fault_suspects(ring);
    report.by_markers = !found.launches.empty();
    if (!report.by_markers) {
        const std::vector<ring::Call> unended = unended_before(ring, report.failed->sequence);
        report.unended_count = unended.size();
        for (std::size_t i = 0; i < std::min(unended.size(), kMostUnended); ++i)
            report.unended.push_back(calls.told_launch(unended[i]));
        if (may_be_assertion(report.failed->result))
            found.launches = asserting(folder, unended, calls, report);
        report.by_assertion = !found.launches.empty();
    }
    if (found.launches.empty()) return std::nullopt;
    tell_suspects(found.launches, report.by_markers && found.is_certain, calls, report);
    return report.faulted ? std::optional(found.launches.front()) : std::nullopt;
}

}  // namespace aoti_dbg::cli

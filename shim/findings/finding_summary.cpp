// Formats the counts of findings for the coverage line.
#include <algorithm>
#include <atomic>
#include <cstdio>

#include "shim/findings/findings.hpp"

namespace aoti_dbg {

FindingSummary::FindingSummary(const FindingCounts& counts) {
    struct Part {
        const std::atomic<std::uint64_t>& count;
        const char* one;
        const char* many;
    };
    const auto add = [this](const char* before, std::uint64_t count, const char* one, const char* many) {
        const int written = snprintf(text_ + used_, sizeof text_ - used_, "%s%llu %s", before,
                                     static_cast<unsigned long long>(count), count == 1 ? one : many);
        if (written > 0) used_ = std::min(sizeof text_ - 1, used_ + static_cast<std::size_t>(written));
    };
    const Part rest[] = {{counts.again, "repeat", "repeats"},
                         {counts.suppressed, "suppressed", "suppressed"},
                         {counts.followers, "follower", "followers"},
                         {counts.unexplained, "of unknown origin", "of unknown origin"}};
    bool has_rest = false;
    for (const Part& part : rest)
        has_rest = has_rest || part.count.load(std::memory_order_relaxed) != 0;
    const std::uint64_t findings = counts.findings.load(std::memory_order_relaxed);
    if (findings == 0 && !has_rest) return;
    add("", findings, "finding", "findings");
    const char* before = " (";
    for (const Part& part : rest) {
        const std::uint64_t count = part.count.load(std::memory_order_relaxed);
        if (count == 0) continue;
        add(before, count, part.one, part.many);
        before = ", ";
    }
    if (has_rest && used_ < sizeof text_ - 1) text_[used_++] = ')';
}

}  // namespace aoti_dbg

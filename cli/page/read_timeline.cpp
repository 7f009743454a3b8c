// See read_timeline.hpp.
#include "cli/page/read_timeline.hpp"

#include <algorithm>

#include "cli/recorded_file.hpp"
#include "serializer/timeline_reader.hpp"

namespace aoti_dbg::cli {

void read_timeline(const std::string& path, PageRows& rows) {
    std::vector<PageRows::Sequence>& all = rows.sequences;
    if (!std::ranges::is_sorted(all, {}, &PageRows::Sequence::sequence))
        std::ranges::sort(all, {}, &PageRows::Sequence::sequence);
    RecordedFile file(path.c_str());
    TimelineReader reader([&file](char* to, std::size_t bytes) { return file.read(to, bytes); });
    for (ReadSpan span; reader.next(span);) {
        const auto found = std::ranges::lower_bound(all, span.sequence, {}, &PageRows::Sequence::sequence);
        if (found != all.end() && found->sequence == span.sequence)
            found->device_ns += static_cast<double>(span.end_ns - span.start_ns);
    }
}

}  // namespace aoti_dbg::cli

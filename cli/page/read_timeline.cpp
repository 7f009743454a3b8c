// See read_timeline.hpp.
#include "cli/page/read_timeline.hpp"

#include <algorithm>

#include "cli/recorded_file.hpp"
#include "serializer/event_fields.hpp"
#include "serializer/line_source.hpp"

namespace aoti_dbg::cli {

void read_timeline(const std::string& path, PageRows& rows) {
    std::vector<PageRows::Sequence>& all = rows.sequences;
    if (!std::ranges::is_sorted(all, {}, &PageRows::Sequence::sequence))
        std::ranges::sort(all, {}, &PageRows::Sequence::sequence);
    RecordedFile file(path.c_str());
    LineSource lines([&file](char* to, std::size_t bytes) { return file.read(to, bytes); });
    JsonLine json;
    for (std::string_view line; lines.next(line);) {
        if (!line.starts_with(R"({"event":"span")") || lines.is_too_long() || !json.parse(line)) continue;
        const JsonLine::Value root = json.root();
        std::uint64_t sequence = 0;
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        if (!read_integer(root.member("seq"), sequence) || !read_integer(root.member("start_ns"), begin) ||
            !read_integer(root.member("end_ns"), end) || end < begin)
            continue;
        const auto found = std::ranges::lower_bound(all, sequence, {}, &PageRows::Sequence::sequence);
        if (found != all.end() && found->sequence == sequence)
            found->device_ns += static_cast<double>(end - begin);
    }
}

}  // namespace aoti_dbg::cli

// See read_page.hpp.
#include "cli/page/read_page.hpp"

#include <algorithm>
#include <filesystem>

#include "cli/page/page_sources.hpp"
#include "cli/page/page_verdict.hpp"
#include "cli/page/read_process.hpp"
#include "cli/page/row_files.hpp"
#include "cli/process_files.hpp"
#include "triage/gather/recorded_processes.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

std::string parent_of(const std::string& path) {
    return fs::path(path).parent_path().string();
}

/// Returns the processes with what their rings say of them, in the order of their starts. A process can lack
/// a ring.
std::vector<PageProcessFiles> processes_in(const RecordedFolder& folder) {
    std::vector<RecordedProcess> recorded = recorded_processes(folder.path(), 0);
    std::vector<PageProcessFiles> all;
    for (const ProcessFiles& found : processes_below(folder.path())) {
        const auto with_ring = std::ranges::find(recorded, found.ring, &RecordedProcess::ring);
        const bool has_ring = !found.ring.empty() && with_ring != recorded.end();
        if (!has_ring && found.events.empty()) continue;
        PageProcessFiles& files = all.emplace_back();
        if (has_ring) {
            files.recorded = std::move(*with_ring);
        } else {
            files.recorded.pid = static_cast<std::uint32_t>(found.pid);
            files.recorded.folder = found.folder;
            files.recorded.start_unix_ns = header_of(found.events).start_ns;
        }
        if (!found.events.empty()) files.events.push_back(found.events);
        if (!found.timeline.empty()) files.timelines.push_back(found.timeline);
    }
    std::ranges::stable_sort(all, {},
                             [](const PageProcessFiles& files) { return files.recorded.start_unix_ns; });
    // index.jsonl is in a folder of the process's folder.
    for (const std::string& index : folder.files("index", ".jsonl")) {
        const auto owner = std::ranges::find_if(all, [&](const PageProcessFiles& files) {
            return files.recorded.pid == header_of(index).pid &&
                   files.recorded.folder == parent_of(parent_of(index));
        });
        if (owner != all.end()) owner->index = index;
    }
    return all;
}

void note_limits(Page& page) {
    const PageRows& rows = page.rows;
    if (rows.calls_beyond != 0)
        page.left_out.push_back(std::to_string(rows.calls_beyond) + " calls beyond the first " +
                                std::to_string(kMostRows) + " distinct calls");
    if (rows.sequences_beyond != 0)
        page.left_out.push_back("device times of " + std::to_string(rows.sequences_beyond) + " calls");
    if (rows.points_beyond != 0) page.left_out.emplace_back("later runs in the charts");
    if (rows.values_beyond != 0) page.left_out.emplace_back("elements of some small tensors");
    if (rows.layouts_beyond != 0) page.left_out.emplace_back("shapes of some tensors");
    std::uint64_t shown = 0;
    for (const PageFinding& finding : page.findings)
        shown += finding.count;
    if (shown < page.finding_count)
        page.left_out.push_back(std::to_string(page.finding_count - shown) +
                                " findings: events.jsonl has them");
}

}  // namespace

Result<Page> read_page(const PageRequest& request) {
    Result<RecordedFolder> opened = RecordedFolder::open(request.folder);
    if (!opened.ok())
        return Status::error(opened.status().message() + ". Pass the output directory (AOTI_DBG_OUT)");
    const RecordedFolder& folder = opened.value();
    const std::vector<PageProcessFiles> processes = processes_in(folder);
    if (processes.empty())
        return Status::error(
            "no process is recorded in " + request.folder +
            ". Pass the output directory (AOTI_DBG_OUT), which contains flight.ring or events.jsonl");
    Page page;
    page.folder = folder.path();
    page.is_confidential = request.is_confidential;
    for (const PageProcessFiles& process : processes)
        read_process(process, page);
    page.rows.finish();
    page.order = order_of_rows(page.rows);
    page.links = links_between(page.rows, page.order);
    read_sources(folder, processes, request.torch_trace, page);
    if (!page.is_confidential) read_row_files(folder, request.page_folder, processes, page);
    read_verdict(folder, page);
    note_limits(page);
    return page;
}

}  // namespace aoti_dbg::cli

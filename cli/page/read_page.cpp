// See read_page.hpp.
#include "cli/page/read_page.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "cli/page/page_sources.hpp"
#include "cli/page/page_verdict.hpp"
#include "cli/page/read_process.hpp"
#include "cli/page/row_files.hpp"
#include "triage/gather/recorded_processes.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

std::string parent_of(const std::string& path) {
    return fs::path(path).parent_path().string();
}

/// Takes the files of a process in its folder from `lines`. Without a pid, all of the folder's files match.
std::vector<std::string> take_lines(const RecordedProcess& process, std::vector<ProcessLines>& lines) {
    std::vector<std::string> taken;
    std::erase_if(lines, [&](const ProcessLines& one) {
        const bool is_its = parent_of(one.path) == process.folder && one.pid == process.pid;
        if (is_its) taken.push_back(one.path);
        return is_its;
    });
    return taken;
}

/// Pairs rings with files of events. A process can have either of them alone.
std::vector<PageProcessFiles> processes_in(const RecordedFolder& folder) {
    std::vector<ProcessLines> events = folder.lines("events");
    std::vector<ProcessLines> timelines = folder.lines("timeline");
    std::vector<ProcessLines> indexes = folder.lines("index");
    std::vector<PageProcessFiles> all;
    for (RecordedProcess& process : recorded_processes(folder.path(), 0)) {
        if (!folder.has(process.ring)) continue;
        PageProcessFiles& files = all.emplace_back();
        files.recorded = std::move(process);
    }
    for (PageProcessFiles& files : all) {
        files.events = take_lines(files.recorded, events);
        files.timelines = take_lines(files.recorded, timelines);
    }
    for (const ProcessLines& rest : events) {
        PageProcessFiles& files = all.emplace_back();
        files.recorded.pid = rest.pid;
        files.recorded.start_unix_ns = rest.start_ns;
        files.recorded.folder = parent_of(rest.path);
        files.events.push_back(rest.path);
        files.timelines = take_lines(files.recorded, timelines);
    }
    // index.jsonl is in a folder of the process's folder.
    for (const ProcessLines& index : indexes) {
        const auto owner = std::ranges::find_if(all, [&](const PageProcessFiles& files) {
            return files.recorded.pid == index.pid &&
                   files.recorded.folder == parent_of(parent_of(index.path));
        });
        if (owner != all.end()) owner->index = index.path;
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

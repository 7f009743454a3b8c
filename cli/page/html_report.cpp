// See html_report.hpp.
#include "cli/page/html_report.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "base/error_code.hpp"
#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "cli/page/page_diff.hpp"
#include "cli/page/page_json.hpp"
#include "cli/page/page_template.hpp"
#include "cli/page/read_page.hpp"
#include "cli/report/report_files.hpp"
#include "cli/torch_trace_option.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = 5'000'000;

/// Where the page goes: a folder, and a name without and with its ending.
struct Place {
    fs::path folder;
    std::string stem = "report";
    std::string ending = ".html";
};

Place place_of(const HtmlRequest& request, const std::string& about) {
    std::error_code failed;
    if (request.output.empty()) return {fs::canonical(about, failed)};
    const fs::path file = fs::absolute(request.output, failed).lexically_normal();
    const fs::path folder = fs::weakly_canonical(file.parent_path(), failed);
    return {failed ? file.parent_path() : folder, file.stem().string(), file.extension().string()};
}

int refuse_output(const std::string& output) {
    error_message(ErrorCode::output_not_written, "cannot create %s: file exists. Set --output to a new file.",
                  output.c_str());
    return 1;
}

}  // namespace

int html_report(const HtmlRequest& request) {
    const std::string about = request.second.empty() ? request.folder : request.second;
    std::error_code failed;
    if (!request.output.empty() && fs::exists(fs::symlink_status(request.output, failed)))
        return refuse_output(request.output);
    const std::optional<Result<TorchTrace>> trace =
        request.torch_trace.empty() ? std::nullopt : std::optional(TorchTrace::read(request.torch_trace));
    if (trace && !trace->ok()) return refuse_torch_trace(trace->status());
    const Place place = place_of(request, about);
    Result<Page> page =
        read_page({about, place.folder.string(), request.is_confidential, trace ? &trace->value() : nullptr});
    if (!page.ok()) {
        error_message(ErrorCode::nothing_recorded, "%s.", page.status().message().c_str());
        return 1;
    }
    if (!request.second.empty() && !add_diff(request.folder, about, page.value())) return 1;
    const std::size_t room = kMostBytes - std::min(kMostBytes, kPageTemplateSize);
    const std::string text = page_with(page_json(page.value(), room));
    const Result<std::string> written = write_new_file(place.folder.string(), place.stem, place.ending, text);
    if (!written.ok()) {
        error_message(ErrorCode::output_not_written, "%s. %s", written.status().message().c_str(),
                      remedy_for(written.status(), "--output", PlaceKind::file).c_str());
        return 1;
    }
    message(Severity::info, "page: %s", written.value().c_str());
    return 0;
}

}  // namespace aoti_dbg::cli

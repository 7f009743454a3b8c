// See row_files.hpp.
#include "cli/page/row_files.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "base/clean_text.hpp"
#include "base/shell_text.hpp"
#include "cli/page/tensor_histogram.hpp"
#include "cli/tensor_files.hpp"
#include "serializer/launch_record.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostIndex = std::uint64_t{32} << 20U;
constexpr std::size_t kMostLaunches = 1000;
constexpr std::size_t kMostLaunchBytes = std::size_t{1} << 20U;
constexpr std::size_t kMostHistograms = 200;
constexpr std::uint64_t kMostHistogramBytes = std::uint64_t{64} << 20U;  // of all files

/// The check that makes such a finding.
const char* check_word(Finding::Kind kind) {
    if (kind == Finding::Kind::argument) return "args";
    return kind == Finding::Kind::inf ? "inf" : "nan";
}

class RowFileReader {
  public:
    RowFileReader(const RecordedFolder& folder, std::string page_folder, Page& page)
        : folder_(folder), page_folder_(std::move(page_folder)), page_(page) {}

    void read(std::uint32_t process, const PageProcessFiles& files) {
        read_launches(process, files.recorded.folder);
        if (files.index.empty()) return;
        std::error_code failed;
        if (fs::file_size(files.index, failed) > kMostIndex || failed) {
            page_.left_out.emplace_back("links to saved tensors: " + relative(files.index) + " lists them");
            return;
        }
        // TensorFiles finds the index from the name of the file of events.
        std::string name = fs::path(files.index).parent_path().filename().string();
        if (!name.starts_with("tensors")) return;
        name.replace(0, 7, "events");
        TensorFiles tensors((fs::path(files.index).parent_path().parent_path() / (name + ".jsonl")).string());
        for (const std::uint32_t row : page_.order)
            if (page_.rows.rows[row].process == process) read_tensors(row, tensors);
    }

    void add_repeats() {
        for (PageFinding& finding : page_.findings) {
            const auto found = launches_.find(
                {finding.process, finding.finding.model, finding.finding.run, finding.finding.call});
            if (found != launches_.end())
                finding.repeat = "aoti-dbg replay " + shell_text({found->second});
            else
                finding.repeat = repeat_command(finding);
        }
    }

  private:
    [[nodiscard]] std::string relative(const std::string& path) const {
        return fs::path(path).lexically_relative(page_folder_).string();
    }

    /// Returns a command that records the launch of a finding for `aoti-dbg replay`, or one that finds it
    /// again if its call cannot be captured. Needs the command line of the program.
    [[nodiscard]] std::string repeat_command(const PageFinding& one) const {
        const Finding& finding = one.finding;
        const std::string& program = page_.processes[one.process].program;
        if (program.empty() || clean_text(program) != program) return {};
        if (one.row == kNoIndex32 || finding.call == kNoCallNumber || finding.run == ~0U ||
            page_.rows.kernels[page_.rows.sites[page_.rows.rows[one.row].site].kernel].kind == "cpp_kernel")
            return "aoti-dbg run --level 2 --check " + std::string(check_word(finding.kind)) + " -- " +
                   program;
        const std::string which =
            finding.kernel + "@" + std::to_string(finding.run) + ":" + std::to_string(finding.call);
        return "aoti-dbg run --capture " + shell_text({which}) + " -- " + program;
    }

    void read_launches(std::uint32_t process, const std::string& place) {
        std::error_code failed;
        std::vector<std::string> paths;
        for (fs::directory_iterator entry(place, failed), end; !failed && entry != end;
             entry.increment(failed)) {
            std::error_code unreadable;
            if (!entry->path().filename().string().starts_with("launches") || entry->is_symlink(unreadable))
                continue;
            for (fs::directory_iterator file(entry->path(), unreadable), last; !unreadable && file != last;
                 file.increment(unreadable))
                if (file->path().extension() == ".json") paths.push_back(file->path().string());
        }
        std::ranges::sort(paths);
        if (paths.size() > kMostLaunches) {
            page_.left_out.emplace_back("links to " + std::to_string(paths.size() - kMostLaunches) +
                                        " captured launches");
            paths.resize(kMostLaunches);
        }
        for (const std::string& path : paths) {
            const std::optional<std::string> text = small_file(path, kMostLaunchBytes);
            const Result<LaunchRecord> launch = text ? read_launch(*text) : Status::error("");
            if (launch.ok()) take_launch(process, launch.value(), path);
        }
    }

    void take_launch(std::uint32_t process, const LaunchRecord& launch, const std::string& path) {
        launches_[{process, launch.model, launch.run, launch.call}] = path;
        for (std::uint32_t model = 0; model < page_.rows.models.size(); ++model) {
            const PageModel& one = page_.rows.models[model];
            if (one.process != process || one.number != launch.model) continue;
            const std::uint32_t row = page_.rows.find(model, launch.call, launch.kernel);
            if (row == kNoIndex32) continue;
            std::string& link = page_.files[row].launch;
            if (link.empty() || page_.rows.rows[row].run == launch.run) link = relative(path);
        }
    }

    void read_tensors(std::uint32_t index, TensorFiles& tensors) {
        PageRow& row = page_.rows.rows[index];
        const bool is_end = row.side != EventSide::before;
        for (const bool is_after : {false, true}) {
            const EventSide side = is_end ? row.side : is_after ? EventSide::after : EventSide::before;
            for (RowTensor& tensor : is_after ? row.after : row.before) {
                const SiteArgument& argument = page_.rows.sites[row.site].arguments[tensor.argument];
                // A tensor that the call only reads is the same after it.
                if (is_after && argument.role == Role::reads && !is_end) continue;
                const std::optional<TensorFiles::Saved> saved =
                    tensors.saved_at({side, row.run, row.call, argument.position, argument.label});
                if (!saved || !folder_.has(saved->file)) continue;
                RowFiles& files = page_.files[index];
                files.files.push_back({tensor.argument, is_after, relative(saved->file)});
                // Memory that the call only writes has no meaning before it.
                if (is_after || argument.role != Role::writes)
                    take_numbers(saved->file, is_after, row, tensor, files);
            }
        }
    }

    void take_numbers(const std::string& path, bool is_after, PageRow& row, RowTensor& tensor,
                      RowFiles& files) {
        if (histograms_ == kMostHistograms) return note_histograms();
        std::error_code failed;
        const std::uint64_t bytes = fs::file_size(path, failed);
        if (failed || bytes > kMostHistogramBytes - histogram_bytes_) return note_histograms();
        histogram_bytes_ += bytes;
        std::optional<FileNumbers> numbers = numbers_in(path);
        if (!numbers) return;
        if (!tensor.is_measured) {
            // Level 1 records no statistics.
            take_statistics(numbers->statistics, tensor);
            row.flags &= static_cast<std::uint8_t>(~kNothingMeasured);
            if (tensor.nan != 0) row.flags |= kHasNan;
            if (tensor.infinite != 0) row.flags |= kHasInf;
        }
        if (numbers->histogram.counts.empty()) return;
        ++histograms_;
        numbers->histogram.argument = tensor.argument;
        numbers->histogram.is_after = is_after;
        files.histograms.push_back(std::move(numbers->histogram));
    }

    void note_histograms() {
        if (std::exchange(has_noted_, true)) return;
        page_.left_out.emplace_back(
            "histograms and statistics of the other files: aoti-dbg show FILE.pt prints them");
    }

    const RecordedFolder& folder_;
    std::string page_folder_;
    Page& page_;
    bool has_noted_ = false;
    std::size_t histograms_ = 0;
    std::uint64_t histogram_bytes_ = 0;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, std::string> launches_;
};

}  // namespace

void read_row_files(const RecordedFolder& folder, const std::string& page_folder,
                    const std::vector<PageProcessFiles>& processes, Page& page) {
    page.files.resize(page.rows.rows.size());
    RowFileReader reader(folder, page_folder, page);
    for (std::uint32_t process = 0; process < processes.size(); ++process)
        reader.read(process, processes[process]);
    reader.add_repeats();
}

}  // namespace aoti_dbg::cli

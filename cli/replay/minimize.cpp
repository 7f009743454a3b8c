#include "cli/replay/minimize.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>

#include "base/clean_text.hpp"
#include "base/file_failure.hpp"
#include "base/words.hpp"
#include "cli/bundle/bundle_writer.hpp"
#include "cli/bundle/manifest_of.hpp"
#include "cli/print.hpp"
#include "cli/replay/minimize_search.hpp"
#include "cli/replay/replays.hpp"
#include "cli/replay/smaller_contents.hpp"
#include "cli/replay/smaller_launch.hpp"
#include "cli/replay/tensor_span.hpp"
#include "cli/replay/verdict.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kMostRowTrials = 40;

/// True if another tensor of the launch shares memory with it, so its contents are not its own.
bool is_shared(const LaunchRecord& launch, const LaunchTensor& tensor) {
    const std::uint64_t end = tensor.address + span_of(tensor.facts);
    return std::ranges::any_of(launch.tensors, [&](const LaunchTensor& other) {
        return &other != &tensor && other.address < end &&
               tensor.address < other.address + span_of(other.facts);
    });
}

class Minimizer {
  public:
    Minimizer(Judge& judge, const Verdict& expected, SmallerLaunch& launch)
        : judge_(judge), expected_(expected), launch_(launch) {}

    /// Gives tensors that the launch only writes zeros. Returns false if the verdict depends on their
    /// contents.
    bool clear_outputs() {
        const LaunchRecord& record = launch_.file().launch;
        std::map<std::size_t, FileContents> before;
        for (std::size_t i = 0; i < record.tensors.size(); ++i) {
            const Result<SavedContents> saved = contents_of(i);
            if (!saved.ok() || !is_uninitialized(record, record.tensors[i]) ||
                is_shared(record, record.tensors[i]))
                continue;
            before.emplace(i, *launch_.contents(i));
            launch_.set_contents(i, saved.value().filled_with(saved.value().candidates().front()));
        }
        if (keeps()) return true;
        for (const auto& [number, contents] : before)
            launch_.set_contents(number, contents);
        return false;
    }

    /// Returns a line about the grid; nothing if it stays as it is after the tensors became smaller.
    std::string shrink_grid(bool is_again) {
        const std::array<std::uint32_t, 3> before = launch_.file().launch.grid;
        const std::string name = "  grid " + triple_text(before) + ": ";
        const bool is_fixed = launch_.file().launch.is_cooperative;
        for (std::size_t d = 0; d < 3 && !is_fixed; ++d)
            shrink_dimension(d, is_again);
        const std::array<std::uint32_t, 3> after = launch_.file().launch.grid;
        if (after == before && is_again) return {};
        if (after != before) return name + triple_text(after) + (is_again ? " with these tensors\n" : "\n");
        return name + (is_fixed ? "unchanged, because it is cooperative\n" : "unchanged\n");
    }

    /// Returns a line about the tensor.
    std::string shrink_tensor(std::size_t number) {
        const LaunchTensor& tensor = launch_.file().launch.tensors[number];
        const std::string name = "  " + clean_text(tensor.label) + " " + shape_of(tensor.facts) + ": ";
        if (is_shared(launch_.file().launch, tensor))
            return name + "unchanged, because it shares memory with another tensor\n";
        const Result<SavedContents> saved = contents_of(number);
        if (!saved.ok()) return name + saved.status().message() + "\n";
        return name + shrink(number, saved.value()) + "\n";
    }

  private:
    bool keeps() { return judge_.has(launch_.file(), expected_); }

    void shrink_dimension(std::size_t dimension, bool is_again) {
        std::array<std::uint32_t, 3> grid = launch_.file().launch.grid;
        const std::uint32_t unit = std::max(launch_.file().launch.cluster[dimension], 1U);
        if (grid[dimension] % unit != 0) return;
        const auto set = [&, this](std::uint32_t units) {
            grid[dimension] = units * unit;
            launch_.set_grid(grid);
        };
        const auto holds = [&, this](std::uint32_t units) {
            set(units);
            return keeps();
        };
        const std::uint32_t before = grid[dimension] / unit;
        // A search that would most likely find nothing costs only one trial.
        const bool is_worth_it = !is_again || (before > 1 && holds(before - 1));
        set(is_worth_it ? smallest_prefix(is_again ? before - 1 : before, holds) : before);
    }

    [[nodiscard]] Result<SavedContents> contents_of(std::size_t number) const {
        const std::optional<FileContents>& file = launch_.contents(number);
        if (!file) return Status::error("no elements");
        return SavedContents::read(*file);
    }

    bool keeps_with(std::size_t number, FileContents contents) {
        const FileContents before = *launch_.contents(number);
        launch_.set_contents(number, std::move(contents));
        if (keeps()) return true;
        launch_.set_contents(number, before);
        return false;
    }

    std::string shrink(std::size_t number, const SavedContents& saved) {
        const std::optional<std::vector<std::byte>> constant = saved.constant();
        for (const std::vector<std::byte>& candidate : saved.candidates()) {
            if (candidate == constant)
                launch_.set_contents(number, saved.filled_with(candidate));
            else if (!keeps_with(number, saved.filled_with(candidate)))
                continue;
            return "constant " + saved.text_of(candidate);
        }
        const Rows all = saved.rows();
        const Rows needed = needed_rows(
            all, kMostRowTrials, [&](const Rows& rows) { return keeps_with(number, saved.with_rows(rows)); });
        if (needed.empty() || needed.size() == saved.row_count()) return "unchanged";
        return row_words(needed, saved.row_count()) + "; the others are 0";
    }

    Judge& judge_;
    const Verdict& expected_;
    SmallerLaunch& launch_;
};

/// The search can take minutes, so what would fail after it fails before it.
Status can_create(const std::string& path) {
    struct stat info {};
    if (lstat(path.c_str(), &info) == 0)
        return Status::error("cannot create " + path + ": it exists. Name another file with --minimize");
    const std::string folder = std::filesystem::path(path).parent_path().string();
    if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0) return {};
    const Status failed = file_failure("cannot create", path, errno);
    std::string remedy = remedy_for(failed, "--minimize", PlaceKind::file);
    if (remedy.ends_with('.')) remedy.pop_back();
    return Status::error(failed.message() + ". " + remedy);
}

/// Says why a launch has nothing that a smaller one could keep.
Status nothing_to_keep(const LaunchFile& file, const Verdict& verdict) {
    if (verdict.symptom == Symptom::different)
        return Status::error(
            place_of(file.launch) +
            " differs from the record, as would every smaller launch. Add --times 100 to look for a race, or "
            "--poison ff for reads of uninitialized memory");
    return Status::error(place_of(file.launch) +
                         " has no verdict to keep: it does not fault, and writes neither NaN nor Inf. Add "
                         "--guard, --poison ff or --times 100 to look for one");
}

/// Returns the bytes that the parts of a bundle have.
std::uint64_t bytes_of(const BundleContents& contents) {
    std::uint64_t bytes = 0;
    for (const BundlePart& part : contents.parts)
        bytes += part.bytes;
    return bytes;
}

class Minimization {
  public:
    Minimization(const ReplayRequest& request, const LaunchFile& file, SmallerLaunch& launch)
        : request_(request), file_(file), launch_(launch), judge_(without_code(request)) {}

    Status find_verdict() {
        Result<Verdict> found = judge_.judge(launch_.file());
        if (!found.ok()) return found.status();
        verdict_ = std::move(found.value());
        const bool is_clean = verdict_.symptom == Symptom::nothing || verdict_.symptom == Symptom::not_finite;
        // A fault or a race shows in every launch, but NaN in one that is equal to the record.
        if (is_clean) found = Judge(request_).judge(file_);
        if (!found.ok()) return found.status();
        if (found.value().symptom == Symptom::different) return nothing_to_keep(file_, found.value());
        if (verdict_.symptom == Symptom::nothing) return nothing_to_keep(file_, verdict_);
        const bool is_independent = Minimizer(judge_, verdict_, launch_).clear_outputs();
        // Memory that is only written may have had a NaN before.
        if (verdict_.symptom == Symptom::not_finite && !is_independent) return nothing_to_keep(file_, {});
        return {};
    }

    void shrink() {
        Minimizer minimizer(judge_, verdict_, launch_);
        print(place_of(file_.launch) + ": " + words_of(verdict_) + "\n");
        print(minimizer.shrink_grid(false));
        for (std::size_t i = 0; i < launch_.file().launch.tensors.size(); ++i)
            print(minimizer.shrink_tensor(i));
        print(minimizer.shrink_grid(true));
    }

    /// Writes the bundle and replays it.
    Status write() {
        const Result<std::optional<BundleManifest>> manifest = manifest_of(file_);
        if (!manifest.ok()) return manifest.status();
        const std::string& path = request_.minimize;
        const Result<BundleContents> original = bundle_contents({file_}, false, AOTI_DBG_VERSION);
        if (!original.ok()) return original.status();
        Result<BundleContents> smaller = bundle_contents({launch_.file()}, false, AOTI_DBG_VERSION);
        if (!smaller.ok()) return smaller.status();
        if (manifest.value() && manifest.value()->is_redacted) {
            smaller.value().manifest.is_redacted = true;
            smaller.value().manifest.contains =
                "The code of 1 module, and tensors of 1 launch with random contents or constants.";
        }
        const Result<std::uint64_t> bytes = write_bundle(path, smaller.value(), *launch_.file().files);
        if (!bytes.ok()) return bytes.status();
        const Result<std::vector<LaunchFile>> written = launches_of(path);
        if (!written.ok()) return written.status();
        if (!judge_.can_have(written.value().front(), verdict_))
            return Status::error(
                "the bundle " + path +
                " is written, but its replay does not show the problem. For a race, increase --times");
        print(path + ": " + memory_text(bytes.value()) + " instead of " +
              memory_text(bytes_of(original.value())) +
              " for the original launch. Its replay shows the same problem.\n");
        return {};
    }

  private:
    static ReplayRequest without_code(ReplayRequest request) {
        request.code.reset();
        return request;
    }

    const ReplayRequest& request_;
    const LaunchFile& file_;
    SmallerLaunch& launch_;
    Judge judge_;
    Verdict verdict_;
};

}  // namespace

int minimize(const ReplayRequest& request, const LaunchFile& file) {
    if (const Status free = can_create(request.minimize); !free.ok()) return report_trouble(free.message());
    Result<SmallerLaunch> launch = SmallerLaunch::copy_of(file, request.code);
    if (!launch.ok()) return report_trouble(launch.status().message());
    Minimization minimization(request, file, launch.value());
    Status done = minimization.find_verdict();
    if (done.ok()) {
        minimization.shrink();
        done = minimization.write();
    }
    return done.ok() ? 0 : report_trouble(done.message());
}

}  // namespace aoti_dbg::cli

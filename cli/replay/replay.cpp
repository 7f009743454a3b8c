#include "cli/replay/replay.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "base/message.hpp"
#include "base/words.hpp"
#include "cli/print.hpp"
#include "cli/replay/launched.hpp"
#include "cli/replay/python_script.hpp"

namespace aoti_dbg::cli {
namespace {

int report_trouble(const Status& status) {
    error_message(ErrorCode::command_failed, "%s.", status.message().c_str());
    return kReplayTrouble;
}

std::string place_of(const LaunchRecord& launch) {
    return "run " + std::to_string(launch.run) + ", call " + std::to_string(launch.call) + ", " +
           launch.kernel;
}

std::string line_of(const ReplayedTensor& tensor) {
    std::string text = "  " + tensor.label + " " + tensor.shape + ": ";
    if (!tensor.different) return text + "its recorded result is not saved\n";
    if (*tensor.different == 0) return text + "equal\n";
    return text + std::to_string(*tensor.different) + " of " + std::to_string(tensor.elements) +
           " elements differ, first at " + std::to_string(tensor.first) + "\n";
}

/// Prints the first outcome, and how many there were.
class Outcomes {
  public:
    void add(std::uint64_t hash, std::vector<ReplayedTensor> results) {
        if (count_++ == 0) first_ = std::move(results);
        ++by_hash_[hash];
    }

    [[nodiscard]] int print(const LaunchRecord& launch) const {
        const bool is_equal = std::ranges::all_of(
            first_, [](const ReplayedTensor& tensor) { return !tensor.different || *tensor.different == 0; });
        const bool is_steady = by_hash_.size() == 1;
        std::string text = place_of(launch) + ": " + (is_equal ? "equal to the record" : "different") + "\n";
        for (const ReplayedTensor& tensor : first_)
            if (!tensor.different || *tensor.different != 0) text += line_of(tensor);
        if (count_ > 1)
            text += "  " + std::to_string(by_hash_.size()) + " different outcomes in " +
                    std::to_string(count_) + " launches\n";
        if (const int failed = cli::print(text); failed != 0) return kReplayTrouble;
        return is_equal && is_steady ? kReplayEqual : kReplayDifferent;
    }

  private:
    std::uint64_t count_ = 0;
    std::map<std::uint64_t, std::uint64_t> by_hash_;
    std::vector<ReplayedTensor> first_;
};

int run_again(Driver& driver, const LaunchFile& file, std::uint32_t times) {
    const Result<std::string> image = image_of(file);
    if (!image.ok()) return report_trouble(image.status());
    if (Status loaded = driver.load(image.value(), file.launch); !loaded.ok()) {
        const bool is_other = file.launch.compute_capability != driver.compute_capability();
        return report_trouble(is_other
                                  ? Status::error(loaded.message() + ". The launch was captured on " +
                                                  file.launch.device + ", and this is " + driver.device())
                                  : loaded);
    }
    TensorFiles tensors(file.events);
    Launched launched(driver, file, tensors);
    if (Status prepared = launched.prepare(); !prepared.ok()) return report_trouble(prepared);
    Outcomes outcomes;
    for (std::uint32_t i = 0; i < times; ++i) {
        if (Status ran = launched.run(); !ran.ok()) {
            const int printed = print(place_of(file.launch) + ": " + ran.message() + "\n");
            return printed == 0 ? kReplayFault : kReplayTrouble;
        }
        std::uint64_t hash = 0;
        Result<std::vector<ReplayedTensor>> results = launched.results(hash);
        if (!results.ok()) return report_trouble(results.status());
        outcomes.add(hash, std::move(results.value()));
    }
    return outcomes.print(file.launch);
}

/// Writes the script of the one selected call.
int write_python(const std::vector<LaunchFile>& files, const std::string& path) {
    constexpr std::size_t kMostListed = 10;
    if (files.size() > 1) {
        std::string list;
        for (std::size_t i = 0; i < std::min(files.size(), kMostListed); ++i)
            list += (i == 0 ? "" : "; ") + place_of(files[i].launch);
        if (files.size() > kMostListed) list += "; ...";
        error_message(
            ErrorCode::wrong_usage,
            "--python takes one call, and %zu are selected. Select one with --runs and --calls: %s.",
            files.size(), list.c_str());
        return kReplayTrouble;
    }
    if (const Status written = write_script(files.front(), path); !written.ok()) {
        std::string why = written.message();
        if (why.ends_with('.')) why.pop_back();
        return report_trouble(
            Status::error("cannot write a script for " + place_of(files.front().launch) + ": " + why));
    }
    return print(path + " repeats " + place_of(files.front().launch) + "\n") == 0 ? 0 : kReplayTrouble;
}

/// Names the ops, which only their scripts repeat, and removes them. Returns false if nothing else is left.
bool name_ops(std::vector<LaunchFile>& files) {
    std::string text;
    for (const LaunchFile& file : files)
        if (file.launch.kind == LaunchKind::op)
            text += place_of(file.launch) + ": an op; write its script with --python\n";
    std::erase_if(files, [](const LaunchFile& file) { return file.launch.kind == LaunchKind::op; });
    if (!text.empty()) print(text);
    return !files.empty();
}

}  // namespace

int replay(const ReplayRequest& request) {
    Result<std::vector<LaunchFile>> files = launches_of(request.place);
    if (!files.ok()) {
        error_message(ErrorCode::nothing_recorded, "%s.", files.status().message().c_str());
        return kReplayTrouble;
    }
    std::erase_if(files.value(), [&](const LaunchFile& file) {
        return !request.runs.holds(file.launch.run) || !request.calls.holds(file.launch.call);
    });
    if (files.value().empty()) {
        error_message(ErrorCode::no_match, "no captured launch in %s is selected. Change --runs or --calls.",
                      request.place.c_str());
        return kReplayTrouble;
    }
    if (!request.python.empty()) return write_python(files.value(), request.python);
    if (!name_ops(files.value())) return kReplayTrouble;
    const Result<std::unique_ptr<Driver>> driver = Driver::open();
    if (!driver.ok()) return report_trouble(driver.status());
    int worst = kReplayEqual;
    for (const LaunchFile& file : files.value()) {
        const int code = run_again(*driver.value(), file, request.times);
        worst = std::max(worst, code);
        // A fault ends the context.
        if (code == kReplayFault) break;
    }
    return worst;
}

}  // namespace aoti_dbg::cli

// See bundle_command.hpp.
#include "cli/bundle/bundle_command.hpp"

#include "base/message.hpp"
#include "base/words.hpp"
#include "cli/bundle/bundle_writer.hpp"
#include "cli/bundle/manifest_of.hpp"
#include "cli/print.hpp"
#include "cli/replay/missing_inputs.hpp"
#include "cli/replay/selected_launches.hpp"
#include "cli/usage_errors.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr int kNotWritten = 1;

constexpr const char* kBundleExamples =
    "Examples:\n"
    "  aoti-dbg bundle --output bug.aotidbg captured\n"
    "  aoti-dbg bundle --calls 41 --output one.aotidbg captured\n"
    "  aoti-dbg bundle --redact --output shared.aotidbg bug.aotidbg\n"
    "  aoti-dbg replay bug.aotidbg\n"
    "\n"
    "Exit codes: 0 written, 1 not written, 2 wrong command line.\n";

int failure(ErrorCode code, const Status& status) {
    error_message(code, "%s.", status.message().c_str());
    return kNotWritten;
}

int bundle(const std::vector<LaunchFile>& launches, const std::string& output, bool is_redacted) {
    // A bundle of a redacted bundle is redacted.
    const Result<std::optional<BundleManifest>> earlier = manifest_of(launches.front());
    if (!earlier.ok()) return failure(ErrorCode::unreadable_recording, earlier.status());
    if (earlier.value() && earlier.value()->is_redacted) is_redacted = true;
    const Result<BundleContents> contents = bundle_contents(launches, is_redacted, AOTI_DBG_VERSION);
    if (!contents.ok()) return failure(ErrorCode::command_failed, contents.status());
    const Result<std::uint64_t> bytes = write_bundle(output, contents.value(), *launches.front().files);
    if (!bytes.ok()) return failure(ErrorCode::output_not_written, bytes.status());
    return print(output + ": " + memory_text(bytes.value()) + ". " + contents.value().manifest.contains +
                 "\n");
}

}  // namespace

void BundleCommand::add_to(CLI::App& app) {
    CLI::App& own = declare(app, "Write captured launches to a file, to replay anywhere.", kBundleExamples);
    add_value(own, {"place", "An output directory, or another bundle (default: aoti_dbg)."}, place_);
    add_value(own, {"--output", "The file to create, such as bug.aotidbg.", "FILE"}, output_);
    add_value(own, {"--runs", "Only launches of these runs: 3, 10:20 or ::1000.", "RUNS"}, runs_);
    add_value(own, {"--calls", "Only these calls of each run: 3, 10:20 or ::100.", "CALLS"}, calls_);
    add_switch(own, {"--redact", "Replace the contents of tensors with random data, and leave out results."},
               is_redacted_);
}

int BundleCommand::run() {
    if (output_.empty()) return refuse("--output is missing. Name the file to create: --output bug.aotidbg.");
    Window runs;
    Window calls;
    if (const Status selected = parse_selection(runs_, calls_, runs, calls); !selected.ok())
        return refuse(selected.message());
    std::optional<std::vector<LaunchFile>> launches = selected_launches(place_, runs, calls);
    if (!launches) return kNotWritten;
    if (const std::string missing = remove_without_inputs(*launches); !missing.empty()) {
        if (launches->empty()) return failure(ErrorCode::command_failed, Status::error(missing));
        message(Severity::warn, "%s. The bundle leaves such launches out.", missing.c_str());
    }
    return bundle(*launches, output_, is_redacted_);
}

}  // namespace aoti_dbg::cli

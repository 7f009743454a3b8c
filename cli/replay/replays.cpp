#include "cli/replay/replays.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/descriptor.hpp"
#include "cli/print.hpp"
#include "cli/replay/launch_time.hpp"
#include "cli/replay/outcomes.hpp"
#include "cli/replay/tensor_span.hpp"

namespace aoti_dbg::cli {
namespace {

bool is_ptx(const std::string& code) {
    return code.rfind(
               "\x7f"
               "ELF",
               0) != 0 &&
           code.find(".version") != std::string::npos;
}

LaunchResult trouble(const Status& status) {
    return {0, ReplayOutcome::trouble, status.message()};
}

/// One pass of one launch.
class Pass {
  public:
    Pass(const ReplayRequest& request, Driver& driver, const LaunchFile& file, TensorFiles& tensors,
         const LaunchedOptions& options)
        : request_(request), file_(file), options_(options), launched_(driver, file, tensors, options) {}

    LaunchResult replay(bool is_last) {
        if (Status prepared = launched_.prepare(); !prepared.ok()) return trouble(prepared);
        Outcomes outcomes;
        for (std::uint32_t i = 0; i < request_.times; ++i) {
            if (request_.stops) stop_for_debugger();
            if (Status ran = launched_.run(); !ran.ok())
                return {0, ReplayOutcome::failed, place_of(file_.launch) + ": " + ran.message() + "\n"};
            std::uint64_t hash = 0;
            Result<std::vector<ReplayedTensor>> results = launched_.results(hash);
            if (!results.ok()) return trouble(results.status());
            outcomes.add(hash, std::move(results.value()));
        }
        std::string text = outcomes.text(file_.launch, options_);
        if (request_.is_timed && (is_last || outcomes.outcome() != ReplayOutcome::equal)) {
            const Result<std::string> time = launch_time(launched_);
            if (!time.ok()) return trouble(time.status());
            text += time.value();
        }
        return {0, outcomes.outcome(), std::move(text)};
    }

    /// Returns the results that are not recorded.
    Result<LaunchResults> unrecorded() { return launched_.unrecorded(); }

  private:
    const ReplayRequest& request_;
    const LaunchFile& file_;
    LaunchedOptions options_;
    Launched launched_;
};

/// Returns the result of the last pass. A pass that is not equal is the last one.
LaunchResult replay_one(const ReplayRequest& request, Driver& driver, const LaunchFile& file,
                        TensorFiles& tensors, std::uint32_t& pass) {
    if (Status loaded = load_code(driver, request, file); !loaded.ok()) return trouble(loaded);
    LaunchResult result;
    const std::vector<LaunchedOptions> passes = passes_of(request);
    LaunchResults unpoisoned;
    for (pass = 0; pass < passes.size(); ++pass) {
        const bool is_last = pass + 1 == passes.size();
        LaunchedOptions options = passes[pass];
        if (options.poison) options.unpoisoned = &unpoisoned;
        Pass own(request, driver, file, tensors, options);
        result = own.replay(is_last);
        if (exit_code_of(result.outcome) != kReplayEqual) return result;
        if (is_last || options.poison || !request.poison) continue;
        Result<LaunchResults> results = own.unrecorded();
        if (!results.ok()) return trouble(results.status());
        unpoisoned = std::move(results.value());
    }
    return result;
}

std::vector<CrashArgument> arguments_of(const LaunchRecord& launch, const Launched& launched) {
    std::vector<CrashArgument> arguments;
    arguments.reserve(launch.tensors.size());
    for (const LaunchTensor& tensor : launch.tensors)
        arguments.push_back({tensor.label, "", "", launched.address_of(tensor), span_of(tensor.facts)});
    return arguments;
}

/// While the driver writes its dump, a wait for the device succeeds. It fails when the dump is complete.
void await_fault(Driver& driver) {
    constexpr std::chrono::seconds kMost{10};
    const auto end = std::chrono::steady_clock::now() + kMost;
    while (driver.synchronize().ok() && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

}  // namespace

int exit_code_of(ReplayOutcome outcome) {
    switch (outcome) {
        case ReplayOutcome::equal:
        case ReplayOutcome::unrecorded:
            break;
        case ReplayOutcome::different:
            return kReplayDifferent;
        case ReplayOutcome::failed:
            return kReplayFault;
        case ReplayOutcome::trouble:
            return kReplayTrouble;
    }
    return kReplayEqual;
}

Status load_code(Driver& driver, const ReplayRequest& request, const LaunchFile& file) {
    const Result<std::string> code = request.code ? *request.code : image_of(file);
    if (!code.ok()) return code.status();
    if (request.level && !is_ptx(code.value()))
        return Status::error(
            "--ptxas-opt works only with PTX, and this code is already compiled. Pass the kernel's PTX with "
            "--replace. Triton keeps it beside the cubin in its cache");
    Status loaded = driver.load(code.value(), file.launch, request.level);
    if (loaded.ok() || file.launch.compute_capability == driver.compute_capability()) return loaded;
    return Status::error(loaded.message() + ". The launch was captured on " + file.launch.device +
                         ", and this is " + driver.device());
}

std::vector<LaunchedOptions> passes_of(const ReplayRequest& request) {
    const auto pass = [&request](PlacementKind placement, std::optional<std::byte> poison) {
        return LaunchedOptions{placement, poison, nullptr, request.tolerance};
    };
    if (request.is_guarded)
        return {pass(PlacementKind::end_guarded, request.poison),
                pass(PlacementKind::begin_guarded, request.poison)};
    const LaunchedOptions plain = pass(PlacementKind::as_captured, std::nullopt);
    // A launch that differs already without poison says nothing about it.
    if (request.poison) return {plain, pass(PlacementKind::as_captured, request.poison)};
    return {plain};
}

int replay_here(const ReplayRequest& request, const std::vector<LaunchFile>& files,
                const ReplayReport& report, ReplayProgress& progress) {
    const Result<std::unique_ptr<Driver>> driver = Driver::open();
    if (!driver.ok()) {
        report({static_cast<std::uint32_t>(files.size()), ReplayOutcome::trouble, driver.status().message()});
        return kReplayTrouble;
    }
    // All launches are of one recording.
    TensorFiles tensors(files.front().events, files.front().files);
    for (; progress.launch < files.size(); ++progress.launch) {
        const LaunchFile& file = files[progress.launch];
        LaunchResult result = replay_one(request, *driver.value(), file, tensors, progress.pass);
        result.launch = progress.launch;
        if (result.outcome == ReplayOutcome::trouble)
            result.text = place_of(file.launch) + ": " + result.text;
        const bool is_reported = report(result);
        progress.worst =
            std::max(progress.worst, is_reported ? exit_code_of(result.outcome) : kReplayTrouble);
        if (result.outcome == ReplayOutcome::failed) return kReplayFault;
    }
    return progress.worst;
}

DumpedFault dumped_fault(const ReplayRequest& request, const LaunchFile& file,
                         const LaunchedOptions& options) {
    // The driver prints about its dump, and what fails here has been printed.
    const Descriptor nothing(open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (nothing.number() >= 0) dup2(nothing.number(), STDERR_FILENO);
    const FaultDump dump;
    const Result<std::unique_ptr<Driver>> driver = Driver::open();
    if (!driver.ok() || !load_code(*driver.value(), request, file).ok()) return {};
    TensorFiles tensors(file.events, file.files);
    Launched launched(*driver.value(), file, tensors, options);
    if (!launched.prepare().ok() || !launched.begin().ok()) return {};
    await_fault(*driver.value());
    return dump.read(arguments_of(file.launch, launched));
}

int describe_fault(const ReplayRequest& request, const LaunchFile& file, std::uint32_t pass) {
    const std::string lines = dumped_fault(request, file, passes_of(request)[pass]).lines;
    return print(lines) == 0 ? kReplayFault : kReplayTrouble;
}

}  // namespace aoti_dbg::cli

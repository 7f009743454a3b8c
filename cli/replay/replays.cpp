#include "cli/replay/replays.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/descriptor.hpp"
#include "base/message.hpp"
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

int printed(const std::string& text, int code) {
    return print(text) == 0 ? code : kReplayTrouble;
}

/// One pass of one launch.
class Pass {
  public:
    Pass(const ReplayRequest& request, Driver& driver, const LaunchFile& file, TensorFiles& tensors,
         const LaunchedOptions& options)
        : request_(request), file_(file), options_(options), launched_(driver, file, tensors, options) {}

    /// Returns the exit code. A launch that gives the recorded results is printed only if this is the last
    /// pass.
    int replay(bool is_last) {
        if (Status prepared = launched_.prepare(); !prepared.ok()) return report_trouble(prepared);
        Outcomes outcomes;
        for (std::uint32_t i = 0; i < request_.times; ++i) {
            if (request_.stops) stop_for_debugger();
            if (Status ran = launched_.run(); !ran.ok())
                return printed(place_of(file_.launch) + ": " + ran.message() + "\n", kReplayFault);
            std::uint64_t hash = 0;
            Result<std::vector<ReplayedTensor>> results = launched_.results(hash);
            if (!results.ok()) return report_trouble(results.status());
            outcomes.add(hash, std::move(results.value()));
        }
        if (outcomes.is_equal() && !is_last) return kReplayEqual;
        std::string text = outcomes.text(file_.launch, options_);
        if (request_.is_timed) {
            const Result<std::string> time = launch_time(launched_);
            if (!time.ok()) return report_trouble(time.status());
            text += time.value();
        }
        return printed(text, outcomes.is_equal() ? kReplayEqual : kReplayDifferent);
    }

    /// Returns the results that are not recorded.
    Result<LaunchResults> unrecorded() { return launched_.unrecorded(); }

  private:
    const ReplayRequest& request_;
    const LaunchFile& file_;
    LaunchedOptions options_;
    Launched launched_;
};

int replay_one(const ReplayRequest& request, Driver& driver, const LaunchFile& file, std::uint32_t& pass) {
    if (Status loaded = load_code(driver, request, file); !loaded.ok()) return report_trouble(loaded);
    TensorFiles tensors(file.events, file.files);
    const std::vector<LaunchedOptions> passes = passes_of(request);
    LaunchResults unpoisoned;
    for (pass = 0; pass < passes.size(); ++pass) {
        const bool is_last = pass + 1 == passes.size();
        LaunchedOptions options = passes[pass];
        if (options.poison) options.unpoisoned = &unpoisoned;
        Pass own(request, driver, file, tensors, options);
        const int code = own.replay(is_last);
        if (code != kReplayEqual) return code;
        if (is_last || options.poison || !request.poison) continue;
        Result<LaunchResults> results = own.unrecorded();
        if (!results.ok()) return report_trouble(results.status());
        unpoisoned = std::move(results.value());
    }
    return kReplayEqual;
}

std::vector<CrashArgument> arguments_of(const LaunchRecord& launch, const Launched& launched) {
    std::vector<CrashArgument> arguments;
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

int report_trouble(const Status& status) {
    error_message(ErrorCode::command_failed, "%s.", status.message().c_str());
    return kReplayTrouble;
}

Status load_code(Driver& driver, const ReplayRequest& request, const LaunchFile& file) {
    const Result<std::string> code = request.code ? *request.code : image_of(file);
    if (!code.ok()) return code.status();
    if (request.level && !is_ptx(code.value()))
        return Status::error(
            "--ptxas-opt works only with PTX, and the code is compiled already. Give the kernel's PTX with "
            "--replace; Triton keeps it beside the cubin in its cache");
    Status loaded = driver.load(code.value(), file.launch, request.level);
    if (loaded.ok() || file.launch.compute_capability == driver.compute_capability()) return loaded;
    return Status::error(loaded.message() + ". The launch was captured on " + file.launch.device +
                         ", and this is " + driver.device());
}

std::vector<LaunchedOptions> passes_of(const ReplayRequest& request) {
    if (request.is_guarded)
        return {{PlacementKind::end_guarded, request.poison}, {PlacementKind::begin_guarded, request.poison}};
    // A launch that differs already without poison says nothing about it.
    if (request.poison) return {{}, {PlacementKind::as_captured, request.poison}};
    return {{}};
}

int replay_here(const ReplayRequest& request, const std::vector<LaunchFile>& files,
                ReplayProgress& progress) {
    const Result<std::unique_ptr<Driver>> driver = Driver::open();
    if (!driver.ok()) return report_trouble(driver.status());
    for (; progress.launch < files.size(); ++progress.launch) {
        const int code = replay_one(request, *driver.value(), files[progress.launch], progress.pass);
        progress.worst = std::max(progress.worst, code);
        if (code == kReplayFault) return code;
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
    return printed(dumped_fault(request, file, passes_of(request)[pass]).lines, kReplayFault);
}

}  // namespace aoti_dbg::cli

// A program that gives several devices the same work. Each device numbers its own launches, so the number of
// the faulted launch exists on each of them.
#include <map>
#include <string>
#include <vector>

#include "tests/preload/faulted_launch.hpp"
#include "tests/support/places.hpp"
#include "tests/support/unwrapped.hpp"

namespace aoti_dbg::test::several_devices_test {
namespace {

struct Faulted {
    Faulted(int devices, const std::string& streams, int launch, const Lines& flags = {},
            Variables variables = {}, const Lines& besides = {}) {
        const TempFolder folder;
        const std::filesystem::path out = folder.path() / "out";
        const Lines argv = joined(
            joined({places::kTool, "run", "--triage", "--scope", "all"}, flags),
            joined({"--", victim_path("several_devices"), std::to_string(devices), "40", streams}, besides));
        variables["AOTI_DBG_OUT"] = out.string();
        variables["FAKE_CUDA_DEVICES"] = std::to_string(devices);
        variables["FAKE_CUDA_FAIL_AT"] = std::to_string(launch);
        const Outcome run = run_bare(argv, variables);
        err = run.err;
        CAPTURE(run.err);
        CHECK(run.exit_code == 0);
        REQUIRE(std::filesystem::exists(out / "report.json"));
        report = nlohmann::json::parse(read_text(out / "report.json"));
        expected_seq = seq_of(ring_of(out), launch);
        device = "cuda:" + std::to_string((launch - 1) % devices);
        kernel = "kernel_" + std::to_string((launch - 1) / devices % 5);
    }
    nlohmann::json report;
    std::string err;
    std::uint64_t expected_seq = 0;
    std::string device;
    std::string kernel;
};

void check_all_on(const nlohmann::json& calls, const std::string& device, bool are_there) {
    for (const nlohmann::json& call : calls)
        CHECK((call.at("device") == device) == are_there);
}

TEST_CASE("Of the same launch on several devices, the faulted one is named with its device") {
    for (const std::string streams : {"own", "legacy", "library"}) {
        for (const int devices : {2, 3}) {
            for (const int launch : {1, 2, 3, 31, 32, 33}) {
                CAPTURE(streams, devices, launch);
                const Faulted faulted(devices, streams, launch);
                const nlohmann::json& report = faulted.report;
                const nlohmann::json& call = report.at("call");
                CAPTURE(faulted.err);
                CHECK(call.at("kernel") == faulted.kernel);
                CHECK(call.at("seq") == faulted.expected_seq);
                CHECK_FALSE(call.contains("likely"));
                CHECK(call.at("device") == faulted.device);
                CHECK(report.at("device").at("device") == faulted.device);
                CHECK(contains(faulted.err, " of " + faulted.device + "\n"));
                if (report.contains("before")) check_all_on(report.at("before"), faulted.device, true);
                if (report.contains("before_elsewhere"))
                    check_all_on(report.at("before_elsewhere"), faulted.device, false);
            }
        }
    }
}

TEST_CASE("Copies and fills count as launches only where they use a kernel") {
    for (const std::string streams : {"own", "legacy", "library"}) {
        for (const int devices : {1, 2}) {
            for (const int launch : {31, 62, 63}) {
                if (launch > 40 * devices) continue;
                CAPTURE(streams, devices, launch);
                const Faulted faulted(devices, streams, launch, {}, {}, {"copies"});
                const nlohmann::json& call = faulted.report.at("call");
                CHECK(call.at("kernel") == faulted.kernel);
                CHECK(call.at("seq") == faulted.expected_seq);
                CHECK_FALSE(call.contains("likely"));
            }
        }
    }
}

TEST_CASE("The report lists every device with its uuid and marks the faulted one") {
    const Faulted faulted(3, "own", 32);
    const std::string fault = faulted.report.at("environment").at("cuda:1");
    CHECK(contains(fault, " (of the fault)"));
    CHECK(contains(unwrapped(faulted.err), "cuda:0 Software device GPU-a0a0a0a0"));
    CHECK(contains(unwrapped(faulted.err), ", cuda:1 " + fault + ", cuda:2 Software device GPU-"));
    CHECK(
        faulted.report.at("environment").at("cuda:2").get<std::string>().starts_with("Software device GPU-"));
}

TEST_CASE("Without a core dump markers name the launch on the device whose context failed") {
    for (const std::string streams : {"own", "legacy"}) {
        for (const int launch : {31, 32}) {
            CAPTURE(streams, launch);
            const Faulted faulted(2, streams, launch, {"--completion", "markers"},
                                  {{"FAKE_CUDA_NO_COREDUMP", "1"}});
            const nlohmann::json& call = faulted.report.at("call");
            CAPTURE(faulted.err);
            CHECK(call.at("seq") == faulted.expected_seq);
            CHECK(call.at("device") == faulted.device);
        }
    }
}

TEST_CASE("A program with several devices does not notice the library") {
    const std::string streams = GENERATE("legacy", "library");
    const std::string besides = GENERATE("nothing", "copies");
    const Lines argv = {victim_path("several_devices"), "3", "40", streams, besides};
    const Variables devices = {{"FAKE_CUDA_DEVICES", "3"}};
    const Outcome bare = run_bare(argv, devices);
    CHECK(bare.out == "end: 0\nend: 0\nend: 0\n");
    const TempFolder folder;
    const Outcome seen = run_bare(joined({places::kTool, "run", "--triage", "--scope", "all", "--out",
                                          (folder.path() / "out").string(), "--"},
                                         argv),
                                  devices);
    CHECK(seen.out == bare.out);
    CHECK(seen.exit_code == bare.exit_code);
    CHECK_FALSE(std::filesystem::exists(folder.path() / "out" / "report.json"));
}

TEST_CASE("An event is waited for in the context that recorded it, and a free has no known context") {
    const TempFolder folder;
    const std::filesystem::path out = folder.path() / "out";
    const Outcome run = run_bare({places::kTool, "run", "--triage", "--scope", "all", "--out", out.string(),
                                  "--", victim_path("several_devices"), "3", "5", "legacy", "elsewhere"},
                                 {{"FAKE_CUDA_DEVICES", "3"}});
    CHECK(run.out == "end: 0\nend: 0\nend: 0\n");
    const ring::Contents ring = ring_of(out);
    std::map<std::string, std::vector<int>> contexts;
    for (const ring::Call& call : ring::merged_calls(ring))
        if (call.record->kind == ring::CallKind::wait)
            contexts[std::string(ring.name(call.record->name))].push_back(call.record->context);
    CHECK(contexts["cuEventSynchronize"] == std::vector<int>{1, 2, 3});
    CHECK(contexts["cuMemFree"] == std::vector<int>{0, 0, 0});
    CHECK(contexts["cuCtxSynchronize"] == std::vector<int>{1, 2, 3});
}

}  // namespace
}  // namespace aoti_dbg::test::several_devices_test

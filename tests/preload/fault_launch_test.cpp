// Which launch of a thousand faulted. The driver's dump has a launch number, and the ring must have the same
// one.
#include <algorithm>
#include <vector>

#include "tests/preload/faulted_launch.hpp"

namespace aoti_dbg::test::fault_launch_test {
namespace {

TEST_CASE("The faulted launch of a thousand is named on any stream and from any thread") {
    for (const Way way : {Way{1, 1}, {3, 1}, {2, 2}, {3, 3}}) {
        for (int launch = 1; launch <= kLaunches; launch += launch < 5 ? 1 : 47) {
            CAPTURE(way.streams, way.threads, launch);
            const FaultedLaunch faulted(way, launch);
            const nlohmann::json& call = faulted.report.at("call");
            CAPTURE(call.dump());
            CHECK(call.at("kernel") == "kernel_" + std::to_string((launch - 1) % 5));
            CHECK(call.at("seq") == faulted.expected_seq);
            // Behind a graph the library's numbers are too low by the launch of the graph itself.
            if (launch <= kGraph) CHECK_FALSE(call.contains("likely"));
        }
    }
}

/// The member `key` of each call, in order.
std::vector<nlohmann::json> each(const nlohmann::json& calls, const char* key) {
    std::vector<nlohmann::json> values;
    for (const nlohmann::json& call : calls)
        values.push_back(call.at(key));
    return values;
}

TEST_CASE("The launches before a fault are reported for its stream and the others, from any thread") {
    for (const Way way : {Way{3, 1}, {3, 3}, {3, 2}, {2, 3}}) {
        CAPTURE(way.streams, way.threads);
        const FaultedLaunch faulted(way, 400);
        const nlohmann::json& report = faulted.report;
        const nlohmann::json& call = report.at("call");
        const auto on_stream = each(report.at("before"), "stream");
        const auto elsewhere = each(report.at("before_elsewhere"), "stream");
        CHECK(std::count(on_stream.begin(), on_stream.end(), call.at("stream")) == 8);
        CHECK(std::count(elsewhere.begin(), elsewhere.end(), call.at("stream")) == 0);
        // Streams take turns, so the previous launch on this stream is one full turn earlier. The previous
        // launch elsewhere is one earlier.
        const std::uint64_t seq = faulted.expected_seq;
        const auto streams = static_cast<std::uint64_t>(way.streams);
        CHECK(report.at("before").at(0).at("seq") == seq - streams);
        CHECK(report.at("before_elsewhere").at(0).at("seq") == seq - 1);
        CHECK(contains(faulted.err, ", stream " + call.at("stream").get<std::string>()));
        CHECK(contains(faulted.err, "\n  other streams  kernel_"));
    }
}

TEST_CASE("The report lists the devices that the process uses and marks the faulted one") {
    const FaultedLaunch faulted({2, 1}, 100, {{"FAKE_CUDA_DEVICES", "2"}});
    const nlohmann::json& environment = faulted.report.at("environment");
    CHECK(environment.at("cuda:0") ==
          "Software device GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0 (of the fault)");
    CHECK_FALSE(environment.contains("cuda:1"));
    CHECK_FALSE(environment.at("CUDA of the driver").get<std::string>().empty());
}

TEST_CASE("The launches in flight beside a fault are reported, and none that the fault had to wait for") {
    const auto check = [](const FaultedLaunch& faulted, const nlohmann::json& unended) {
        CHECK(unended.size() <= 16);
        for (const nlohmann::json& launch : unended) {
            const bool is_behind_it = launch.at("seq") > faulted.expected_seq;
            CHECK((is_behind_it || launch.at("stream") != faulted.report.at("call").at("stream")));
        }
    };
    // No call has waited for any of them.
    const FaultedLaunch faulted({3, 3}, 400);
    check(faulted, faulted.report.at("unended"));
    CHECK(faulted.report.at("unended").at(0).at("seq") == faulted.expected_seq - 1);
    CHECK(faulted.report.at("unended_count") >= 266);
    CHECK(contains(faulted.err, "\n  unfinished     kernel_"));
    // Markers know that most of them have finished. A busy machine can leave more of them unfinished, so this
    // retries.
    std::vector<int> counts;
    while (counts.size() < 5 && (counts.empty() || counts.back() >= 266)) {
        const FaultedLaunch marked({3, 3}, 400, {}, {"--completion", "markers"});
        check(marked, marked.report.value("unended", nlohmann::json::array()));
        counts.push_back(marked.report.value("unended_count", 0));
    }
    CAPTURE(counts);
    CHECK(counts.back() < 266);
}

TEST_CASE("A launch within a graph is named by the record of its capture") {
    for (int launch = kGraph + 1; launch <= kGraph + 3; ++launch) {
        CAPTURE(launch);
        const FaultedLaunch faulted({2, 1}, launch);
        CHECK(faulted.report.at("call").at("kernel") == "kernel_" + std::to_string((launch - 1) % 5));
        CHECK(faulted.report.at("call").at("seq") == faulted.expected_seq);
    }
}

TEST_CASE("A launch behind a graph is distinguished from others of the same kernel") {
    const FaultedLaunch faulted({1, 1, 1}, kGraph + 100);
    CHECK(faulted.report.at("call").at("seq") == faulted.expected_seq);
}

TEST_CASE("Without a core dump, blocking launches identify the one of a thousand that faulted") {
    const Variables none = {{"FAKE_CUDA_NO_COREDUMP", "1"}};
    for (int launch = 1; launch <= kGraph; launch += 83) {
        CAPTURE(launch);
        // Either the driver's own variable or the option, which sets that variable.
        const bool by_option = launch % 2 == 0;
        Variables blocking = none;
        if (!by_option) blocking["CUDA_LAUNCH_BLOCKING"] = "1";
        const FaultedLaunch faulted({3, 1}, launch, blocking,
                                    by_option ? Lines{"--completion", "blocking"} : Lines{});
        CHECK(faulted.report.at("failed").at("seq") == faulted.expected_seq);
        CHECK(contains(faulted.verdict, "so the fault is in this kernel"));
        CHECK(faulted.ring.markers.empty());
    }
    const FaultedLaunch asynchronous({3, 1}, 100, none, {"--completion", "off"});
    CHECK(contains(asynchronous.verdict, "in an earlier launch"));
    // The faulted launch is among those that no call has waited for.
    const auto& report = asynchronous.report;
    CAPTURE(asynchronous.verdict, asynchronous.expected_seq);
    CHECK(contains(asynchronous.verdict, " launches were not known to have finished: "));
    CHECK(report.at("unended").at(0).at("seq") <= asynchronous.expected_seq);
    CHECK(report.at("unended").at(0).at("seq").get<std::uint64_t>() +
              report.at("unended_count").get<std::uint64_t>() >
          asynchronous.expected_seq);
}

TEST_CASE("A launch that the driver refuses has no number") {
    const FaultedLaunch faulted({1, 1}, 100, {{"FAKE_CUDA_REFUSE", "kernel_4"}});
    CHECK(faulted.report.at("call").at("seq") == faulted.expected_seq);
}

}  // namespace
}  // namespace aoti_dbg::test::fault_launch_test

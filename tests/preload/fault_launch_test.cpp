// Which launch it was that faulted, of a thousand: the driver's dump says a number, and the ring has the
// same.
#include "tests/preload/faulted_launch.hpp"

namespace aoti_dbg::test {
namespace {

TEST_CASE(
    "Whichever launch of a thousand faults, on whichever stream and from whichever thread, it is named") {
    for (const Way way : {Way{1, 1}, {3, 1}, {2, 2}, {3, 3}}) {
        for (int launch = 1; launch <= kLaunches; launch += launch < 5 ? 1 : 47) {
            CAPTURE(way.streams, way.threads, launch);
            const FaultedLaunch faulted(way, launch);
            const nlohmann::json& call = faulted.report.at("call");
            CAPTURE(call.dump());
            CHECK(call.at("kernel") == "kernel_" + std::to_string((launch - 1) % 5));
            CHECK(call.at("seq") == faulted.expected_seq);
            // Behind a graph the library's numbers are too small by that of the graph itself.
            if (launch <= kGraph) CHECK_FALSE(call.contains("likely"));
        }
    }
}

TEST_CASE("A launch within a graph is named, which was recorded when it was captured") {
    for (int launch = kGraph + 1; launch <= kGraph + 3; ++launch) {
        CAPTURE(launch);
        const FaultedLaunch faulted({2, 1}, launch);
        CHECK(faulted.report.at("call").at("kernel") == "kernel_" + std::to_string((launch - 1) % 5));
        CHECK(faulted.report.at("call").at("seq") == faulted.expected_seq);
    }
}

TEST_CASE("Behind a graph a launch is named among others of the same kernel") {
    const FaultedLaunch faulted({1, 1, 1}, kGraph + 100);
    CHECK(faulted.report.at("call").at("seq") == faulted.expected_seq);
}

TEST_CASE("Without a core dump launches that wait for their kernels tell which of a thousand it was") {
    const Variables none = {{"FAKE_CUDA_NO_COREDUMP", "1"}};
    for (int launch = 1; launch <= kGraph; launch += 83) {
        CAPTURE(launch);
        // By the driver's own variable, and by the option, which sets it.
        const bool by_option = launch % 2 == 0;
        Variables blocking = none;
        if (!by_option) blocking["CUDA_LAUNCH_BLOCKING"] = "1";
        const FaultedLaunch faulted({3, 1}, launch, blocking,
                                    by_option ? Lines{"--completion", "blocking"} : Lines{});
        CHECK(faulted.report.at("failed").at("seq") == faulted.expected_seq);
        CHECK(contains(faulted.verdict, "in that one"));
        CHECK(faulted.ring.markers.empty());
    }
    const FaultedLaunch asynchronous({3, 1}, 100, none, {"--completion", "off"});
    CHECK(contains(asynchronous.verdict, "launched before"));
    // The one is among those that no call has waited for.
    const auto& report = asynchronous.report;
    CAPTURE(asynchronous.verdict, asynchronous.expected_seq);
    CHECK(contains(asynchronous.verdict, "; not known to have ended are "));
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
}  // namespace aoti_dbg::test

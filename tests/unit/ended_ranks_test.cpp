// Several processes with an abnormal exit, as flight rings written by hand: which one is reported, with its
// own facts.
#include <csignal>

#include "serializer/process_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/ended_run_fixture.hpp"
#include "triage/render/report_json.hpp"

namespace aoti_dbg::test::ended_ranks_test {
namespace {

/// A process that crashed inside a call, `after_ns` nanoseconds after the start.
Process crashed(std::uint32_t pid, std::uint64_t after_ns, const std::string& rank) {
    Process process = Process(pid, SIGSEGV, pid).with(pid, {open_record(1, 0)});
    if (after_ns != 0) process.header.signal_unix_ns = process.header.start_unix_ns + after_ns;
    ProcessFacts facts;
    facts.pid = pid;
    facts.rank = rank;
    facts.working_folder = "/srv/" + rank;
    facts.command = {"./worker", rank};
    facts.variables = {{"AOTI_DBG_SCOPE", "all"}, {"RANK", rank}};
    append_process_line(facts, process.facts);
    return process;
}

}  // namespace

TEST_CASE("The first process to crash is reported, with its own rank and variables") {
    const Report report = report_of(
        kExit1, {crashed(kChild, 0, "0"), crashed(kChild + 1, 10, "1"), crashed(kChild + 2, 20, "2")});
    CHECK(report.evidence.end.pid == kChild + 1);
    CHECK(report.evidence.end.rank == "1");
    CHECK(report.evidence.end.folder.find("/w1") != std::string::npos);
    CHECK(report.evidence.variables ==
          std::vector<std::pair<std::string, std::string>>{{"AOTI_DBG_SCOPE", "all"}, {"RANK", "1"}});
    CHECK(contains(text_of(report), "4000201, /usr/bin/victim, rank 1, ended with SIGSEGV"));
    CHECK(has_note(report, "process 4000200 (/usr/bin/victim, rank 0) ended with SIGSEGV"));
    CHECK(has_note(report, "process 4000202 (/usr/bin/victim, rank 2) ended with SIGSEGV"));
    // The started program is another one, with flags and variables of its own.
    CHECK(report.evidence.command == std::vector<std::string>{"./start"});
    CHECK(report.evidence.flags.empty());
    const std::string json = report_json(report);
    CHECK(contains(json, "\"rank\": \"1\""));
    const std::string line = verdict_line(report, "/out/report.json");
    CHECK(contains(line, "\"rank\":\"1\""));
}

TEST_CASE("Of several failed contexts the first is reported, by the call that returned the error") {
    const auto failed_at = [](std::uint32_t pid, std::uint64_t seq) {
        ring::Record launch = record(seq, 0);
        launch.kind = ring::CallKind::launch;
        launch.result = 700;
        Process process = Process(pid).with(pid, {record(1, 2), launch});
        process.header.ended = 1;
        return process;
    };
    CHECK(report_of(kExit1, {failed_at(kChild, 3), failed_at(kChild + 1, 9)}).evidence.end.pid == kChild);
    CHECK(report_of(kExit1, {failed_at(kChild, 9), failed_at(kChild + 1, 3)}).evidence.end.pid == kChild + 1);
}

TEST_CASE("If no command waited for a process, its own facts say how it was started") {
    const Report report = report_of(0, {crashed(kStarted, 5, "3")}, false);
    CHECK(report.evidence.command == std::vector<std::string>{"./worker", "3"});
    CHECK(report.evidence.working_folder == "/srv/3");
    CHECK(report.evidence.flags == std::vector<std::pair<std::string, std::string>>{{"--scope", "all"}});
}

TEST_CASE("Another process's facts and a damaged file are not used") {
    for (const bool is_damaged : {false, true}) {
        Process process = crashed(kChild, 5, "3");
        if (is_damaged)
            process.facts.resize(process.facts.size() / 2);
        else
            process.header.pid = kChild + 1;
        const Report report = report_of(kExit1, {process});
        CHECK(report.evidence.end.signal == SIGSEGV);
        CHECK(report.evidence.end.rank.empty());
    }
}

TEST_CASE("The process's devices are reported, and versions beside its libtorch") {
    const TempFolder packages;
    const std::filesystem::path site = packages.path() / "site-packages";
    for (const char* name : {"torch/lib", "torch-2.11.0.dist-info", "pytorch_triton-3.6.0+gitabc.dist-info"})
        std::filesystem::create_directories(site / name);
    Process process = crashed(kStarted, 5, "");
    append_device_line({1, "NVIDIA H200", "GPU-01", 13010}, process.facts);
    process.libtorch = (site / "torch/lib/libtorch_cpu.so").string();
    const Report report = report_of(0, {process}, false);
    using Texts = std::vector<std::pair<std::string, std::string>>;
    Texts known;
    for (const auto& text : report.evidence.versions)
        if (text.first != "driver" && text.first != "package") known.push_back(text);
    CHECK(known == Texts{{"torch", "2.11.0"},
                         {"triton", "3.6.0+gitabc"},
                         {"CUDA of the driver", "13.1"},
                         {"cuda:1", "NVIDIA H200 GPU-01"}});
}

}  // namespace aoti_dbg::test::ended_ranks_test

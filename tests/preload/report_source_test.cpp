// What a report takes from the source of the model that a call belongs to. The tests use the fake driver,
// with one package or several similar ones.
#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/preload/triage_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::report_source_test {
namespace {

/// cuda_models with these models. One of its launches faults. A run has six calls. The first is an op that
/// launches a kernel of its own.
struct Faulted : Run {
    Faulted(int launch, const Lines& variants, const Lines& flags = kTriage,
            const Lines& options = {"--runs", "2"})
        : Run(flags, cuda_models(options, variants), {{"FAKE_CUDA_FAIL_AT", std::to_string(launch)}}) {
        CAPTURE(outcome.err);
        REQUIRE(has_report());
    }
};

/// The part of a report that must be the same for a model whatever other models exist.
Json source_details(const Json& report) {
    Json details;
    for (const char* member : {"kernel", "line", "original_aten", "source_nodes"})
        details[member] = report.at("call").at(member);
    for (const Json& argument : report.at("arguments"))
        details["arguments"].push_back({argument.at("label"), argument.value("written_by", ""),
                                        argument.value("what", ""), argument.value("suspect", false)});
    return details;
}

std::string package_of(const Run& run) {
    return run.report().at("call").at("package");
}

bool begins_with(const std::string& text, const std::string& beginning) {
    return text.rfind(beginning, 0) == 0;
}

TEST_CASE("A second package with similar calls takes nothing away from the report") {
    const Faulted alone(5, {"stats"});
    const Faulted beside(5, {"stats", "stats_other"});
    CHECK(source_details(beside.report()) == source_details(alone.report()));
    CHECK_FALSE(beside.report().contains("notes"));
    CHECK(package_of(beside) == package_of(alone));
    CHECK(begins_with(package_of(beside), "cstats-"));
    CHECK(beside.report().at("call").at("path") == model_path("stats"));
    const std::string text = read_text(beside.out() / "report.txt");
    CHECK(contains(text, "  package        " + package_of(beside)));
    CHECK(contains(text, "  written by     "));
}

TEST_CASE("Ops, which have no known stream, are reported before a fault on the legacy stream") {
    const Json report = Faulted(5, {"stats"}).report();
    CHECK(report.at("call").at("stream") == "0x0");
    CHECK(report.at("before").back().at("kernel") == "aoti_torch_cuda_addmm_out");
}

TEST_CASE("The report uses the package of the faulted call's model, whichever thread comes first") {
    const Faulted run(5, {"stats", "stats_other"}, kTriage, {"--threads", "2", "--streams", "nonblocking"});
    const Json call = run.report().at("call");
    const std::string variant = call.at("model") == 0 ? "stats" : "stats_other";
    CHECK(begins_with(package_of(run), "c" + variant + "-"));
    CHECK(call.at("path") == model_path(variant));
    CHECK(call.at("line") != 0);
}

TEST_CASE("For an older library's folder without package owners, the report says so") {
    const Faulted run(5, {"stats", "stats_other"}, {"--triage", "--keep-dump", "on"});
    for (const fs::path& package : Preloaded::files(run.out() / "evidence", "c"))
        fs::remove(package / "models.jsonl");
    fs::remove(run.out() / "report.json");
    fs::remove(run.out() / "report.txt");
    const Outcome again = reported(run.out());
    CAPTURE(again.err);
    const Json report = run.report();
    CHECK_FALSE(report.at("call").contains("line"));
    CHECK_FALSE(report.at("call").contains("package"));
    CHECK(contains(report.at("notes").dump(), "2 packages match these calls (cstats-"));
}

TEST_CASE("Tensors of the call are reported with dtype, sizes and address, scalars with their value") {
    const Faulted run(5, {"stats"});
    const Json arguments = run.report().at("arguments");
    REQUIRE(arguments.size() == 4);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(arguments[i].at("dtype") == "float32");
        CHECK(arguments[i].at("sizes") == Json({8, 16}));
        CHECK(arguments[i].at("bytes") == 512);
        CHECK(begins_with(arguments[i].at("begin"), "0x"));
        CHECK_FALSE(arguments[i].contains("expected"));
    }
    CHECK(arguments[3].at("value") == "128");
    CHECK(contains(read_text(run.out() / "report.txt"),
                   "  arguments      buf1: in_ptr0, float32 [8, 16], 512 bytes at 0x"));
    // An input comes from the caller and may differ from the expected one.
    const Json input = Faulted(4, {"stats"}).report().at("arguments").at(0);
    CHECK(input.at("label") == "arg2_1");
    CHECK(input.at("expected") == true);
    CHECK(input.at("written_by") == "the caller (model input)");
    CHECK(input.at("bytes") == 512);
}

/// A log of TORCH_TRACE with the wrapper, as compiled with INDUCTOR_PROVENANCE=1. Each kernel is from the
/// line of the model that has its number.
std::string trace_log(const std::string& wrapper) {
    std::istringstream lines(wrapper);
    std::string log =
        "V1127 22:07:05.0 1 x.py:1] {\"graph_dump\": {\"name\": \"inductor_aot_wrapper_code\"}}\n";
    Json stacks = Json::object();
    for (std::string line; std::getline(lines, line);) {
        const std::size_t name =
            line.rfind("    call_", 0) == 0 ? 9 : line.find("aoti_torch_cuda_addmm_out(");
        if (name < line.size()) {
            const std::string number = std::to_string(stacks.size() + 1);
            const std::string key = line.substr(name, line.find('(', name) - name) + ":" + number;
            log += "\t    // [Provenance debug handles] " + key + "\n";
            stacks[key] = {"  File \"/m/net.py\", line " + number + ", in forward\n    x = f(x)\n"};
        }
        log += "\t" + line + "\n";
    }
    return log +
           "V1127 22:07:05.0 1 x.py:1] {\"artifact\": {\"name\": "
           "\"inductor_provenance_tracking_kernel_stack_traces\"}}\n\t" +
           stacks.dump() + "\n";
}

TEST_CASE("With a log of the model's compilation, the report has the Python line of the faulted kernel") {
    const Faulted run(5, {"stats"}, {"--triage", "--keep-dump", "on"});
    const std::string wrapper = read_text(fs::path(model_path("stats")).replace_extension(".cpp"));
    const fs::path logs = run.folder() / "logs";
    fs::create_directories(logs);
    write_text(logs / "dedicated_log_torch_trace_x.log", trace_log(wrapper));
    Outcome again = run_bare({places::kTool, "report", run.out().string(), "--torch-trace", logs.string()});
    CAPTURE(again.out, again.err);
    CHECK(contains(again.out, "  python         net.py:5 in forward: x = f(x)\n"));
    write_text(logs / "dedicated_log_torch_trace_x.log", trace_log(wrapper + "int more;\n"));
    again = run_bare({places::kTool, "report", run.out().string(), "--torch-trace", logs.string()});
    CHECK_FALSE(contains(again.out, "  python "));
    CHECK(contains(again.out, "the --torch-trace logs have no compilation of this model"));
    again = run_bare({places::kTool, "report", run.out().string(), "--torch-trace", run.out().string()});
    CHECK(again.exit_code == 1);
    CHECK(contains(again.err, "no TORCH_TRACE log"));
}

/// cuda_models with these models, which produce a finding: the square root of negative numbers.
struct Found : Run {
    explicit Found(const Lines& variants)
        : Run({"--triage", "--ci", "--check", "nan,inf,args"}, cuda_models({"--runs", "2"}, variants)) {
        CAPTURE(outcome.err);
        CHECK(outcome.exit_code == 1);
        REQUIRE(has_report());
    }
};

TEST_CASE("A finding of a program that exits normally is reported with its call, like a fault") {
    const Found run({"stats_other", "stats"});
    const Json report = run.report();
    CHECK(run.verdict() == "NaN in buf4, first made by triton_poi_fused_sqrt_2 (run 0, call 3)");
    const Json& call = report.at("call");
    CHECK(call.at("kernel") == "triton_poi_fused_sqrt_2");
    CHECK(call.at("original_aten") == Json({"aten.sqrt"}));
    CHECK(call.at("line") == report.at("finding").at("line"));
    CHECK(begins_with(package_of(run), "cstats_other-"));
    CHECK(report.at("before").at(0).at("kernel") == "triton_poi_fused_gt_arange_1");
    const Json& arguments = report.at("arguments");
    REQUIRE(arguments.size() == 3);
    CHECK(arguments[0].at("written_by") == "the caller (model input)");
    CHECK(arguments[1].at("suspect") == true);
    CHECK(contains(arguments[1].at("what"), "float32 [8, 16], 25 NaN"));
    CHECK(arguments[2].at("value") == "128");
    CHECK(report.at("ended").at("exit_status") == 0);
    CHECK(contains(report.at("environment").dump(), "cstats-"));
    const std::string text = read_text(run.out() / "report.txt");
    CHECK(contains(text, "  call           triton_poi_fused_sqrt_2 (run 0, call 3), launch "));
    CHECK(contains(text, "  <- this one\n"));
    const Json verdict = Json::parse(read_text(run.verdict_file()));
    CHECK(verdict.at("kernel") == "triton_poi_fused_sqrt_2");
}

TEST_CASE("A finding about a run's input is reported with the run and the calls before it") {
    const Run run(kTriage, {victim_path("wrong_arguments"), "dtype", model_path("stats")});
    CAPTURE(run.outcome.err);
    REQUIRE(run.has_report());
    const Json report = run.report();
    CHECK(report.at("call").at("kind") == "run");
    // It fails before its first call, so nothing of its package was kept.
    CHECK(report.at("call").at("path") == model_path("stats"));
    CHECK_FALSE(contains(read_text(run.out() / "report.txt"), "  package "));
    const Json& argument = report.at("arguments").at(0);
    CHECK(argument.at("label") == "arg2_1");
    CHECK(argument.at("suspect") == true);
}

}  // namespace
}  // namespace aoti_dbg::test::report_source_test

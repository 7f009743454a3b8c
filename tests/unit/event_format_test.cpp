// The examples on the pages of docs/reference come from this test, which also checks them. A difference means
// that the format has changed; AOTI_DBGTEST_WRITE_PAGE=1 makes this program write its examples into the
// pages.
#include <cstdlib>

#include "serializer/event_compact.hpp"
#include "serializer/event_jsonl.hpp"
#include "serializer/event_text.hpp"
#include "serializer/tensor_index_jsonl.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"
#include "tests/support/run_program.hpp"
#include "tests/unit/event_fixture.hpp"
#include "triage/judge/verdict.hpp"
#include "triage/render/report_json.hpp"
#include "triage/render/report_text.hpp"

namespace aoti_dbg::event_format_test {
namespace {

using namespace test;

/// Checks that the code block after the mark `name` equals `text`, or replaces it if the environment asks for
/// that.
void check_example(const std::string& page_name, const std::string& name, const std::string& text) {
    const std::string path = std::string(places::kReferencePages) + "/" + page_name;
    std::string page = read_text(path);
    const std::string mark = "<!-- example: " + name + " -->\n```";
    const std::size_t place = page.find(mark);
    REQUIRE(place != std::string::npos);
    const std::size_t begin = page.find('\n', place + mark.size()) + 1;
    const std::size_t length = page.find("```\n", begin) - begin;
    if (std::getenv("AOTI_DBGTEST_WRITE_PAGE") != nullptr) {
        write_text(path, page.replace(begin, length, text));
    } else {
        CHECK(page.substr(begin, length) == text);
    }
}

/// A call with one of everything, the same in each format.
struct Sample {
    SiteFacts site;
    ArgumentFacts weight;
    ArgumentFacts result;
    ArgumentFacts size;
    HeldTensor weights{DType::float32, {2, 2}, std::vector<float>{0.5F, -1, 2, 0}};
    HeldTensor results{DType::float16, {3}, std::vector<std::uint16_t>{0x3c00, 0x7e00, 0x4200}};

    Sample() {
        site.number = 1;
        site.kernel = "aoti_torch_cuda_addmm_out";
        site.symbol = "aoti_torch_cuda_addmm_out";
        site.kind = "op";
        site.site = 4;
        site.line = 321;
        site.source_nodes = {"linear"};
        site.original_aten = {"aten.addmm"};
        weight.number = 2;
        weight.label = "l1_weight";
        weight.original_fqn = "l1.weight";
        weight.position = 2;
        weight.role = Role::reads;
        size.number = 3;
        size.label = "s77";
        size.position = 3;
        result.number = 4;
        result.label = "buf0";
        result.role = Role::writes;
        weights.facts.number = 5;
        results.facts.number = 6;
        weights.facts.device = results.facts.device = "cuda:0";
    }

    [[nodiscard]] std::vector<MeasuredArgument> before() const {
        const Requested all = Requested::printed | Requested::indices | Requested::hash;
        MeasuredArgument reused = weights.measured(weight, all);
        reused.measured = Measured::earlier;
        reused.measured_at = 3;
        return {reused, scalar_of(size, "8")};
    }
    [[nodiscard]] std::vector<MeasuredArgument> after() const {
        const Requested all = Requested::printed | Requested::indices | Requested::hash;
        MeasuredArgument written = results.measured(result, all);
        written.address = 0x7f3a00000000;
        return {written};
    }
    /// Both sides of the call.
    template <typename Renderer>
    std::string rendered(Renderer renderer) const {
        const std::vector<MeasuredArgument> read = before();
        const std::vector<MeasuredArgument> made = after();
        MeasuredCall call = call_of(EventSide::before, &site, read);
        call.sequence = 40;
        call.time_ns = 1790000000000000000U;
        call.thread = 4242;
        call.model = 0;
        std::string text;
        renderer.render(call, text);
        call.side = EventSide::after;
        call.time_ns += 5000;
        call.arguments = made;
        renderer.render(call, text);
        return text;
    }
};

HeaderFacts sample_header() {
    HeaderFacts header;
    header.pid = 4242;
    header.command = "python infer.py";
    header.host = "node7";
    header.rank = "0";
    header.start_ns = 1789999990000000000U;
    header.library = "0.1.0";
    return header;
}

TEST_CASE("The events on the page are those that are written") {
    std::string file;
    JsonlRenderer::render_header(sample_header(), file);
    JsonlRenderer::render_model({0, "/tmp/abc/model.wrapper.so", "model"}, file);
    file += Sample().rendered(JsonlRenderer());
    const std::vector<NamedCount> counts = {{"models", 1}, {"runs", 1}, {"calls", 65}, {"lost", 0}};
    JsonlRenderer::render_coverage(counts, file);
    check_example("events.md", "jsonl", file);
}

TEST_CASE("The text on the page is the text that is printed") {
    check_example("events.md", "text", Sample().rendered(TextRenderer()));
}

TEST_CASE("The compact lines on the page are those that are printed") {
    check_example("events.md", "compact", Sample().rendered(CompactRenderer(false)));
}

TEST_CASE("The index on the page is the one that is written") {
    const Sample sample;
    const MeasuredArgument weight = sample.weights.measured(sample.weight, Requested::printed);
    const TensorFacts& facts = sample.weights.facts;
    IndexedTensor tensor;
    tensor.path = "run0003/call0012/before_launch_aoti_torch_cuda_addmm_out_l1_weight_cuda:0.pt";
    tensor.run = 3;
    tensor.call = 12;
    tensor.model = 0;
    tensor.sequence = 40;
    tensor.kernel = sample.site.kernel;
    tensor.label = sample.weight.label;
    tensor.position = sample.weight.position;
    tensor.sizes = facts.sizes;
    tensor.strides = facts.strides;
    tensor.storage_bytes = 16;
    tensor.saved_storage_bytes = 16;
    tensor.device = "cuda:0";
    tensor.bytes = 1597;
    tensor.has_hash = true;
    tensor.hash_high = 0x5b1f60a3c2d4e7f8U;
    tensor.hash_low = 0x0123456789abcdefU;
    tensor.statistics = &weight.statistics;
    std::string file;
    append_index_header(sample_header(), "", file);
    append_index_compacted(2, 260, file);
    append_index_file(tensor, file);
    const std::string first(tensor.path);
    tensor.path = "run0003/call0012/after_launch_aoti_torch_cuda_addmm_out_l1_weight_cuda:0.pt";
    tensor.side = EventSide::after;
    tensor.statistics = nullptr;
    tensor.linked_to = first;
    append_index_file(tensor, file);
    append_index_evicted(2, "older than the last runs", 130, file);
    const std::vector<NamedCount> counts = {{"files", 2},           {"linked", 1},
                                            {"bytes", 1597},        {"linked_bytes", 1597},
                                            {"written_files", 392}, {"written_bytes", 203418}};
    const std::vector<NamedCount> removed = {{"older", 390}};
    append_index_end({"complete", "", counts, removed, {}}, file);
    check_example("tensors.md", "index", file);
}

Report sample_report() {
    Evidence evidence;
    evidence.end.pid = 4242;
    evidence.end.program = "/usr/bin/python3.11";
    evidence.end.signal = 11;
    evidence.command = {"python", "infer.py"};
    CrashCall call;
    call.name = "mylib::my_op";
    call.kind = ring::CallKind::proxy_op;
    call.sequence = 40;
    call.run = 3;
    call.call = 12;
    call.model = 0;
    call.model_name = "model";
    call.thread = 4242;
    call.line = 321;
    call.source_nodes = {"my_op"};
    call.package = "model-5b1f60a3c2d4";
    call.path = "/tmp/abc/model.wrapper.so";
    evidence.in_flight = {call};
    call.package = call.path = "";
    call.name = "cpp_fused_sin_0";
    call.kind = ring::CallKind::cpp_kernel;
    call.sequence = 39;
    call.call = 11;
    call.line = 318;
    call.source_nodes = {"sin"};
    call.original_aten = {"aten.sin"};
    evidence.before = {call};
    evidence.arguments = {{"buf1", "float32 [2, 2], min -1, max 2, mean 0.375", "cpp_fused_sin_0 (call 11)"},
                          {"2.5", "", ""}};
    evidence.arguments[0].dtype = "float32";
    evidence.arguments[0].has_sizes = true;
    evidence.arguments[0].sizes = {"2", "2"};
    evidence.arguments[1].value = "2.5";
    evidence.processes = 1;
    evidence.runs = 4;
    evidence.calls = 40;
    evidence.oom_kills = 0;
    evidence.versions = {{"torch", "2.11.0"}};
    evidence.variables = {{"OMP_NUM_THREADS", "2"}};
    evidence.library = "0.1.0";
    return {evidence, judge(evidence)};
}

TEST_CASE("The reports on the page are those that are written") {
    check_example("report.md", "report.txt", report_text(sample_report()));
    check_example("report.md", "report.json", report_json(sample_report()));
    check_example("report.md", "verdict",
                  verdict_line(sample_report(), "/srv/aoti_dbg/20261121-093000-4242/report.json"));
}

TEST_CASE("The page shows what a report says of the driver's log") {
    Report report = sample_report();
    DriverLine& line = report.evidence.driver_lines.emplace_back();
    line.text = "[cuLaunchKernel] expected at most 49152 bytes of shared memory, got 1048576";
    line.thread = 4242;
    line.unix_ns = 1795366159179323793U;
    const auto part = [](const std::string& text, const std::string& begin, const std::string& end) {
        const std::size_t at = text.find(begin);
        REQUIRE(at != std::string::npos);
        return text.substr(at, text.find(end, at) + end.size() - at);
    };
    check_example("driver-log.md", "text", part(report_text(report), "  driver says", "\n"));
    check_example("driver-log.md", "json", part(report_json(report), "  \"driver_log\"", "],\n"));
}

TEST_CASE("The page shows the hang that is written") {
    Hang hang;
    hang.pid = 4242;
    hang.time_ns = 1795366159179323793U;
    StuckCall& stuck = hang.calls.emplace_back();
    stuck.call.name = "cuStreamSynchronize";
    stuck.call.kind = ring::CallKind::wait;
    stuck.call.sequence = 43;
    stuck.call.run = 3;
    stuck.call.thread = 4242;
    stuck.call.stream = 0x5;
    stuck.nanoseconds = 30'012'345'678U;
    stuck.place = {"python", "sleeping",          "futex_do_wait",
                   "202",    "libc.so.6+0x98d61", {"/opt/serve+0x1f20", "/usr/lib/libc.so.6+0x27249"}};
    CrashCall& launch = hang.unended.emplace_back();
    launch.name = "triton_poi_fused_relu_0";
    launch.kind = ring::CallKind::triton;
    launch.sequence = 42;
    launch.run = 3;
    launch.call = 7;
    launch.model = 0;
    launch.thread = 4242;
    launch.stream = 0x5;
    launch.is_likely = true;
    hang.unended_count = 1;
    std::string line;
    append_hang_json(hang, line);
    check_example("hang.md", "hang.json", line);
}

}  // namespace
}  // namespace aoti_dbg::event_format_test

// Reports: hostile names and too much to say first, then what is judged from which facts.
#include "serializer/crash_report.hpp"

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/unit/crash_report_fixture.hpp"

using namespace aoti_dbg;
using namespace aoti_dbg::test;

namespace {

CrashReport crash_inside(const std::string& name) {
    CrashReport report = ended_by(SIGSEGV);
    report.in_flight = {call_of(name)};
    return report;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::size_t characters_in(const std::string& line) {
    return static_cast<std::size_t>(std::count_if(
        line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string verdict_line_of(const CrashReport& report, const std::string& path = "/out/report.json") {
    std::string line;
    append_verdict_line(report, path, line);
    return line;
}

/// Names and texts of `length` bytes everywhere.
CrashReport filled(const std::string& unit, std::size_t length) {
    std::string name;
    while (name.size() < length)
        name += unit;
    CrashReport report = crash_inside(name);
    CrashCall& call = report.in_flight.front();
    call.model_name = name;
    call.line = 812;
    call.original_aten = call.source_nodes = {name, name, name};
    report.end.program = name;
    report.command = {name, "--" + name};
    for (int i = 0; i < 40; ++i) {
        report.before.push_back(call_of(name, 1, 5));
        report.arguments.push_back({name, name, name});
        report.notes.push_back(name);
    }
    report.environment = {{name, name}};
    report.variables = {{name, name}};
    DeviceFault& fault = report.device.emplace();
    for (std::string* text : {&fault.kernel, &fault.device, &fault.grid, &fault.block_size, &fault.block,
                              &fault.thread, &fault.address, &fault.file, &fault.source, &fault.parameter})
        *text = name;
    fault.error = 700;
    fault.line = 7;
    report.finding = Finding{};
    report.finding->kernel = name;
    report.finding->suppression = name;
    report.findings = 12;
    return concluded(report);
}

const std::vector<std::string> kUnits = {"x",        "a b ",         "\"\\",     "\n\x01\x7f",
                                         "\xff\xfe", "\xE2\x82\xAC", "\xC2\x85", "\xF0\x9F\x94\xA5 "};

}  // namespace

TEST_CASE("A report is a screen of text, whatever the names in it are and however long") {
    for (const std::string& unit : kUnits) {
        for (const std::size_t length : {1, 60, 99, 100, 101, 5000}) {
            CAPTURE(unit, length);
            const std::string text = text_of(filled(unit, length));
            std::istringstream lines(text);
            std::size_t count = 0;
            for (std::string line; std::getline(lines, line); ++count) {
                CHECK(characters_in(line) <= kReportColumns);
                CHECK(std::none_of(line.begin(), line.end(),
                                   [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }));
            }
            CHECK(count <= kReportLines);
            CHECK(count >= 10);
            CHECK(text.back() == '\n');
        }
    }
}

TEST_CASE("Where a report is too long lists are shortened before what tells of the call") {
    CrashReport report = crash_inside("mylib::my_op");
    CrashCall& told = report.in_flight.front();
    told.inside = std::string(100, 'x');
    report.end.program = std::string(100, 'p');
    report.end.exit_status = 3;
    told.original_aten = told.source_nodes = {"my_op"};
    report.environment = {{std::string(70, 'a'), "1"}, {std::string(70, 'b'), "2"}};
    report.finding = Finding{};
    report.finding->run = 9;
    report.finding->suppression = "nan in k - " + std::string(100, 'y');
    for (int i = 0; i < 9; ++i) {
        report.before.push_back(call_of("one"));
        report.also_in_flight.push_back(call_of("two"));
        report.arguments.push_back({"buf0", "float32", "three"});
        report.notes.emplace_back("four");
    }
    const std::string text = text_of(concluded(report));
    const std::size_t call = text.find("\n  call ");
    REQUIRE(call != std::string::npos);
    CHECK(text.substr(text.find('\n', call + 1) + 1, 14) == std::string(14, ' '));
    CHECK(contains(text, "\n  also open   two (run 0, call 3) ...\n"));
}

TEST_CASE("The verdict's line is whole JSON of no more than its bytes, whatever is in it") {
    for (const std::string& unit : kUnits) {
        for (const std::size_t length : {1, 300, 500, 680, 2000, 2048, 100000}) {
            CAPTURE(unit, length);
            CrashReport report = filled(unit, length);
            report.verdict = report.in_flight.front().name;
            std::string path;
            while (path.size() < length)
                path += unit;
            const std::string line = verdict_line_of(report, path);
            REQUIRE(line.size() <= kVerdictBytes);
            REQUIRE(line.back() == '\n');
            CHECK(line.find('\n') == line.size() - 1);
            // Refuses what is not UTF-8, too.
            const auto json = nlohmann::json::parse(line);
            CHECK(json.at("class") == "kernel");
            CHECK(json.at("pid") == 4242);
            CHECK_FALSE(json.at("verdict").get<std::string>().empty());
        }
    }
}

TEST_CASE("report.json is JSON, whatever the names in it are") {
    for (const std::string& unit : kUnits) {
        CAPTURE(unit);
        std::string text;
        append_kept_json(filled(unit, 300), text);
        const auto json = nlohmann::json::parse(text);
        CHECK(json.at("format") == kReportFormatName);
        CHECK(json.at("version") == kReportFormatVersion);
        CHECK(json.at("call").at("call") == 3);
        CHECK(json.at("device").at("error") == 700);
    }
}

TEST_CASE("A signal inside a call is the host's, and names the call") {
    const CrashReport report = concluded(crash_inside("mylib::my_op"));
    CHECK(report.kind == CrashClass::host);
    CHECK(report.verdict == "segmentation fault (SIGSEGV) inside mylib::my_op (run 0, call 3)");
    CHECK(report.repeat ==
          std::vector<std::string>{"aoti-dbg run --triage --sync on --level 2 -- python infer.py"});
}

TEST_CASE("The flags that were given stay in the commands that repeat it, unless these set them anew") {
    CrashReport report = crash_inside("mylib::my_op");
    report.flags = {{"--level", "3"}, {"--check", "nan,inf"}, {"--processes", "a b"}};
    CHECK(concluded(report).repeat.front() ==
          "aoti-dbg run --triage --check nan,inf --processes 'a b' --sync on --level 2 -- python infer.py");
    report.uses_cuda = true;
    report.tool = "/opt/my tools/aoti-dbg";
    CHECK(concluded(report).repeat.front() ==
          "CUDA_LAUNCH_BLOCKING=1 '/opt/my tools/aoti-dbg' run --triage --level 3 --check nan,inf "
          "--processes 'a b' -- python infer.py");
    report.hang.emplace().calls.emplace_back();
    report.flags = {{"--check", "nan"}};
    CHECK(contains(concluded(report).repeat.front(), "run --triage --hang 30 --check nan -- python"));
    report.flags.emplace_back("--hang", "5");
    CHECK(contains(concluded(report).repeat.front(), "run --triage --check nan --hang 5 -- python"));
}

TEST_CASE("Calls of several threads are said as a set, and none of them is named as the one") {
    CrashReport report = crash_inside("a");
    report.in_flight.push_back(call_of("b", 1, 0));
    report = concluded(report);
    CHECK(report.call() == nullptr);
    CHECK(report.verdict ==
          "segmentation fault (SIGSEGV) while 2 calls were in flight, in as many threads: a (run 0, call 3), "
          "b (run 1, call 0)");
    CHECK(report.fingerprint == concluded(ended_by(SIGSEGV)).fingerprint);
    for (int i = 0; i < 9; ++i)
        report.in_flight.push_back(call_of("c"));
    CHECK(concluded(report).verdict.find("c (run 0, call 3), ...") != std::string::npos);
}

TEST_CASE("A signal outside of any call is said as such, with the last call or with none") {
    CrashReport report = ended_by(SIGABRT);
    CHECK(concluded(report).verdict == "aborted (SIGABRT); no call of a model was recorded");
    report.last = call_of("at::_ops::abs::call", 4, 13);
    report = concluded(report);
    CHECK(report.kind == CrashClass::host);
    CHECK(
        report.verdict ==
        "aborted (SIGABRT) outside of any call; the last before it was at::_ops::abs::call (run 4, call 13)");
}

TEST_CASE("Between two calls of a run the run and the call before are named") {
    CrashReport report = crash_inside("AOTInductorModelContainerRun");
    report.in_flight.front().kind = ring::CallKind::run;
    report.in_flight.front().run = 7;
    report.before = {call_of("cpp_fused_relu_0", 7, 1)};
    CHECK(concluded(report).verdict ==
          "segmentation fault (SIGSEGV) between the calls of run 7 of model 0, or after an exception had "
          "left it; "
          "its last was cpp_fused_relu_0 (run 7, call 1)");
    // Of another run.
    report.before.front().run = 6;
    CHECK(concluded(report).verdict ==
          "segmentation fault (SIGSEGV) inside run 7 of model 0, or after an exception had left it; "
          "no call of it was recorded");
}

TEST_CASE("SIGKILL is of unknown class, and want of memory is a guess or a count") {
    CrashReport report = crash_inside("mylib::my_op");
    report.end.signal = SIGKILL;
    CHECK(concluded(report).kind == CrashClass::unknown);
    CHECK(concluded(report).verdict ==
          "killed (SIGKILL) inside mylib::my_op (run 0, call 3); perhaps by the "
          "kernel for want of memory, which is a guess");
    report.oom_kills = 0;
    CHECK(concluded(report).verdict.find("; who sent it is not known") != std::string::npos);
    report.oom_kills = 2;
    CHECK(concluded(report).kind == CrashClass::unknown);
    CHECK(concluded(report).verdict.find("; likely by the kernel for want of memory: it has killed 2 here") !=
          std::string::npos);
}

TEST_CASE("Where calls were made that are on no record, that is said, and the error that was seen") {
    CrashReport report;
    report.end.pid = 4242;
    report.end.signal = SIGSEGV;
    report.recording = 2;
    CHECK(concluded(report).verdict ==
          "segmentation fault (SIGSEGV); calls were made but could not be recorded");
    report.unrecorded_error = 700;
    CHECK(concluded(report).kind == CrashClass::host);  // not the one that it ended by
    report.end.signal = 0;
    report.end.exit_status = 95;
    CHECK(concluded(report).verdict ==
          "illegal memory access (CUDA error 700), returned by a call that could not "
          "be recorded; then exit with status 95");
    CHECK(concluded(report).kind == CrashClass::kernel);
    const std::string fingerprint = concluded(report).fingerprint;
    report.end.exit_status = 1;
    CHECK(concluded(report).fingerprint == fingerprint);
}

TEST_CASE("The address of an access that ended a process is told, and no part of the fingerprint") {
    CrashReport report = crash_inside("mylib::my_op");
    const std::string fingerprint = concluded(report).fingerprint;
    report.end.address = 0x7f0000001000;
    CHECK(concluded(report).fingerprint == fingerprint);
    std::string text;
    append_report_text(concluded(report), text);
    CHECK(text.find("by SIGSEGV at address 0x7f0000001000") != std::string::npos);
    std::string json;
    append_kept_json(concluded(report), json);
    CHECK(nlohmann::json::parse(json).at("ended").at("address") == "0x7f0000001000");
}

TEST_CASE(
    "An exit inside a call is the host's, and so is an unexplained end of a descendant's, with a guess") {
    CrashReport report = crash_inside("mylib::my_op");
    report.end.signal = 0;
    report.end.exit_status = 3;
    CHECK(concluded(report).kind == CrashClass::host);
    CHECK(concluded(report).verdict == "exit with status 3 inside mylib::my_op (run 0, call 3)");
    report.end.is_descendant = true;
    CHECK(concluded(report).kind == CrashClass::host);
    CHECK(concluded(report).verdict ==
          "end of process 4242, in no good order, inside mylib::my_op (run 0, call 3); likely by a signal "
          "that a "
          "handler of its own took, or by SIGKILL");
    report.end.is_in_good_order = true;
    CHECK(concluded(report).kind == CrashClass::host);
    CHECK(concluded(report).verdict ==
          "end of process 4242, inside mylib::my_op (run 0, call 3); likely by _exit in it, or in a handler "
          "of its "
          "own for a signal that came there");
    report.end.is_in_good_order = false;
    report.oom_kills = 1;
    CHECK(concluded(report).kind == CrashClass::unknown);
    report.oom_kills.reset();
    report.end.signal = SIGSEGV;
    report.end.signal_is_guessed = true;
    CHECK(concluded(report).kind == CrashClass::host);
    CHECK(concluded(report).verdict ==
          "segmentation fault (SIGSEGV), by the exit status, inside mylib::my_op (run 0, call 3)");
    report.in_flight.clear();
    CHECK(concluded(report).verdict ==
          "segmentation fault (SIGSEGV), by the exit status; no call of a model was recorded");
}

TEST_CASE("A launch that failed has the class of its CUDA error, an op that failed is the host's") {
    CrashReport report = ended_by(0);
    report.end.exit_status = 1;
    report.failed = call_of("aoti_torch_cpu_addmm_out");
    report.failed->result = 1;
    CHECK(concluded(report).kind == CrashClass::host);
    CHECK(concluded(report).verdict ==
          "aoti_torch_cpu_addmm_out (run 0, call 3) failed; then exit with status 1");
    report.failed->result = 0;
    report.failed->left_by_exception = true;
    CHECK(concluded(report).verdict ==
          "aoti_torch_cpu_addmm_out (run 0, call 3) was left by an exception; then exit with status 1");
    report.failed->kind = ring::CallKind::triton;
    report.uses_cuda = true;
    for (const auto& [number, kind] : {std::pair{700, CrashClass::kernel},
                                       {214, CrashClass::hardware},
                                       {2, CrashClass::oom},
                                       {702, CrashClass::hang},
                                       {803, CrashClass::driver},
                                       {31, CrashClass::unknown}}) {
        report.failed->result = number;
        CAPTURE(number);
        CHECK(concluded(report).kind == kind);
    }
    report.failed->result = 702;  // a hang of the driver's reckoning, which nobody here has watched
    CHECK(concluded(report).next.front().find("drives a display") != std::string::npos);
    report.failed->result = 700;
    // Of an exception that nobody caught.
    report.end.signal = SIGABRT;
    report = concluded(report);
    CHECK(report.verdict.rfind("illegal memory access (CUDA error 700), returned by the launch of", 0) == 0);
    CHECK(report.repeat.front() == "CUDA_LAUNCH_BLOCKING=1 aoti-dbg run --triage -- python infer.py");
    CHECK(report.repeat.back() == "compute-sanitizer --tool memcheck python infer.py");
    // What had not ended, as far as anybody knows.
    report.unended = {call_of("first_kernel")};
    report.unended_count = 1;
    CHECK(concluded(report).verdict.find(
              "; not known to have ended is one launch: first_kernel (run 0, call 3); then") !=
          std::string::npos);
    report.unended.assign(16, call_of("one_kernel"));
    report.unended_count = 99;
    report = concluded(report);
    CHECK(report.verdict.find("; not known to have ended are 99 launches: one_kernel (run 0, call 3), ") !=
          std::string::npos);
    CHECK(report.verdict.find(", ...; then aborted") != std::string::npos);
    CHECK(text_of(report).find("unended     one_kernel") != std::string::npos);
    std::string json;
    append_kept_json(report, json);
    CHECK(nlohmann::json::parse(json).at("unended").size() == 16);
    CHECK(nlohmann::json::parse(json).at("unended_count") == 99);
}

TEST_CASE("A wrong argument is the host's, and a failure in the same run tells of it") {
    CrashReport report = ended_by(0);
    report.end.exit_status = 0;
    report.finding = Finding{};
    report.finding->kind = Finding::Kind::argument;
    report.finding->kernel = kModelInputs;
    report.finding->run = 2;
    report.finding->tensor.label = "arg0_1";
    report.finding->check = "dtype";
    report.finding->expected = "float32";
    report.finding->found = "float64";
    report.finding->advice = "convert it";
    report.findings = 1;
    const std::string title = "model input arg0_1: expected dtype float32, got float64";
    const CrashReport found = concluded(report);
    CHECK(found.verdict == title + " (run 2)");
    CHECK(found.kind == CrashClass::host);
    CHECK(found.next == std::vector<std::string>{"convert it"});
    CHECK(text_of(found).find(title) != std::string::npos);

    report.failed = call_of("aoti_torch_cpu_addmm_out", 2);
    report.end.exit_status = 1;
    CHECK(concluded(report).verdict ==
          "aoti_torch_cpu_addmm_out (run 2, call 3) failed; then exit with status 1; "
          "its run began with a finding: " +
              title);
    // The program went on after the run that both are of.
    report.failed_survived = true;
    report.end = ended_by(SIGABRT).end;
    CHECK(concluded(report).verdict == "aborted (SIGABRT); no call of a model was recorded");
    report.failed_survived = false;
    report.end = ended_by(0).end;
    report.end.exit_status = 1;
    report.failed->run = 3;
    CHECK(concluded(report).verdict ==
          "aoti_torch_cpu_addmm_out (run 3, call 3) failed; then exit with status 1");
}

TEST_CASE("A finding is the kernel's, and a fault that a device told goes before everything") {
    CrashReport report = ended_by(0);
    report.end.exit_status = 0;
    report.finding = Finding{};
    report.finding->kernel = "cpp_fused_log_0";
    report.finding->run = 2;
    report.finding->call = 9;
    report.finding->tensor.label = "buf4";
    report.findings = 3;
    CHECK(concluded(report).kind == CrashClass::kernel);
    CHECK(concluded(report).verdict ==
          "NaN in buf4, first made by cpp_fused_log_0 (run 2, call 9), and 2 more");
    report.device = DeviceFault{};
    report.device->kernel = "triton_poi_fused_index_3";
    report.device->line = 14;
    report.in_flight = {call_of("triton_poi_fused_index_3", 7, 41)};
    CHECK(concluded(report).verdict ==
          "fault in triton_poi_fused_index_3 (run 7, call 41), at line 14 of its source");
    // What the finding was found in has nothing to do with a kernel of which no launch is known.
    report.device->kernel = "a_kernel_of_the_programs";
    report.in_flight.clear();
    CHECK(concluded(report).next.front().rfind("repeat it as above", 0) == 0);
}

TEST_CASE("A finding of another run than those that were under way is no verdict") {
    CrashReport report = ended_by(SIGABRT);
    report.finding = Finding{};
    report.finding->kernel = "cpp_fused_log_0";
    report.finding->run = 2;
    report.finding->tensor.label = "buf4";
    report.finding->suppression = "nan in cpp_fused_log_0";
    report.findings = 1;
    CHECK(contains(concluded(report).verdict, "NaN in buf4"));
    report.in_flight = {call_of("mylib::my_op", 2, 9)};
    CHECK(contains(concluded(report).verdict, "NaN in buf4"));
    // Runs are counted by each model.
    report.finding->model = 0;
    report.in_flight.front().model = 1;
    CHECK(concluded(report).verdict == "aborted (SIGABRT) inside mylib::my_op (run 2, call 9)");
    report.in_flight = {call_of("mylib::my_op", 5, 9)};
    report = concluded(report);
    CHECK(report.verdict == "aborted (SIGABRT) inside mylib::my_op (run 5, call 9)");
    CHECK(contains(text_of(report), "finding     nan in cpp_fused_log_0"));
}

TEST_CASE("The fingerprint is that of class, end, kernel and its line, and of nothing else") {
    const CrashReport one = concluded(crash_inside("mylib::my_op"));
    CrashReport other = crash_inside("mylib::my_op");
    other.end.pid = 7;
    other.in_flight.front().run = 9;
    other.in_flight.front().sequence = 1000;
    other.in_flight.front().line = 30;
    other.in_flight.front().stream = 0x7f3a00000000;
    other.command = {"./server"};
    CHECK(concluded(other).fingerprint == one.fingerprint);
    CHECK(one.fingerprint.size() == 16);
    CHECK(concluded(crash_inside("mylib::my_op2")).fingerprint != one.fingerprint);
    other.end.signal = SIGBUS;
    CHECK(concluded(other).fingerprint != one.fingerprint);
    // Where words end is part of them; and the digits are a promise, so they stand here.
    CHECK(fingerprint_of({"ab", "c"}) != fingerprint_of({"a", "bc"}));
    CHECK(fingerprint_of({"host", "SIGSEGV", "mylib::my_op", ""}) == one.fingerprint);
    CHECK(fingerprint_of({}) == "cbf29ce484222325");
}

TEST_CASE("How many kernels Inductor has made before it is no part of the fingerprint") {
    for (const auto& [name, without] : {std::pair{"triton_poi_fused_index_3", "triton_poi_fused_index"},
                                        {"triton_red_fused_0", "triton_red_fused"},
                                        {"cpp_fused_sin_12", "cpp_fused_sin"},
                                        {"triton_tem_fused_mm_2_7", "triton_tem_fused_mm_2"},
                                        {"triton_poi_fused_sin", "triton_poi_fused_sin"},
                                        {"triton_mine_3", "triton_mine_3"},
                                        {"triton_3", "triton_3"},
                                        {"triton_", "triton_"},
                                        {"my_fused_kernel_3", "my_fused_kernel_3"},
                                        {"gemm_fused_3", "gemm_fused_3"},
                                        {"cpp_3", "cpp_3"},
                                        {"_fused_3", "_fused_3"},
                                        {"", ""}})
        CHECK(without_ordinal(name) == without);
    const auto of = [](const std::string& kernel, std::uint32_t line) {
        CrashReport report = ended_by(SIGABRT);
        report.device = DeviceFault{};
        report.device->kernel = kernel;
        report.device->error = 700;
        report.device->line = line;
        return concluded(report);
    };
    CHECK(of("triton_poi_fused_index_3", 14).fingerprint == of("triton_poi_fused_index_4", 14).fingerprint);
    CHECK(of("triton_poi_fused_index_3", 14).fingerprint != of("triton_poi_fused_index_3", 15).fingerprint);
    CHECK(of("triton_poi_fused_index_3", 14).fingerprint != of("triton_poi_fused_sin_3", 14).fingerprint);
    CHECK(of("my_kernel_3", 14).fingerprint != of("my_kernel_4", 14).fingerprint);
    // Without a core dump nobody knows the line.
    CHECK(of("triton_poi_fused_index_3", 14).coarse_fingerprint ==
          of("triton_poi_fused_index_4", 0).fingerprint);
    CrashReport marked = ended_by(SIGABRT);
    marked.failed = call_of("cuStreamSynchronize");
    marked.failed->kind = ring::CallKind::wait;
    marked.failed->result = 700;
    marked.faulted = call_of("triton_poi_fused_index_5");
    marked.by_markers = true;
    CHECK(concluded(marked).fingerprint == of("triton_poi_fused_index_3", 14).coarse_fingerprint);
    CHECK(concluded(marked).coarse_fingerprint == concluded(marked).fingerprint);
}

TEST_CASE("A failure that the program survived has the fingerprint of one that ended it") {
    CrashReport report = ended_by(0);
    report.end.exit_status = 1;
    report.failed = call_of("aoti_torch_cpu_addmm_out");
    report.failed->result = 1;
    const CrashReport ended = concluded(report);
    report.failed_survived = true;
    const CrashReport survived = concluded(report);
    CHECK(survived.verdict ==
          "exit with status 1; before it aoti_torch_cpu_addmm_out (run 0, call 3) had failed, and later runs "
          "ended well");
    CHECK(survived.fingerprint == ended.fingerprint);
    report.shortage = Shortage{};
    CHECK(concluded(report).kind == CrashClass::host);
    const std::string short_of_memory = concluded(report).fingerprint;
    report.failed_survived = false;
    CHECK(concluded(report).kind == CrashClass::oom);
    CHECK(concluded(report).fingerprint == short_of_memory);
}

TEST_CASE("Commands are such as a shell takes for what they were") {
    CHECK(shell_text({"python", "a b.py", "it's", "", "$HOME", "--x=1", "t[0]"}) ==
          R"(python 'a b.py' 'it'\''s' '' '$HOME' --x=1 't[0]')");
}

TEST_CASE("Signals without a name have a number") {
    CHECK(signal_name(SIGSEGV) == "SIGSEGV");
    CHECK(signal_name(40) == "signal 40");
    // Anything may stand in a file.
    for (const int number : {-1, NSIG - 1, NSIG, 1 << 30})
        CHECK(signal_name(number) == "signal " + std::to_string(number));
}

TEST_CASE("Of a Python process that was gone inside of a call it is said how its signal gets known") {
    CrashReport report = ended_by(0);
    report.end.is_descendant = true;
    report.end.exit_status = 1;
    report.in_flight = {call_of("cpp_fused_div_2")};
    const auto speaks_of_it = [](const CrashReport& about) {
        return text_of(concluded(about)).find("PYTHONFAULTHANDLER=1") != std::string::npos;
    };
    CHECK(speaks_of_it(report));
    CrashReport known = report;
    known.end.signal = SIGFPE;
    CHECK_FALSE(speaks_of_it(known));
    CrashReport heeded = report;
    heeded.variables = {{"PYTHONFAULTHANDLER", "1"}};
    CHECK_FALSE(speaks_of_it(heeded));
    CrashReport other = report;
    other.end.program = "/opt/python/bin/server";
    CHECK_FALSE(speaks_of_it(other));
}

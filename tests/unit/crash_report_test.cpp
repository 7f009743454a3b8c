// Reports: the verdict, class and fingerprint that follow from the facts. crash_report_page_test covers the
// pages.
#include "triage/judge/crash_report.hpp"

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/unit/crash_report_fixture.hpp"

using namespace aoti_dbg;
using namespace aoti_dbg::test;

namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("A signal inside a call is the host's, and names the call") {
    const CrashReport report = concluded(crash_inside("mylib::my_op"));
    CHECK(report.kind == CrashClass::host);
    CHECK(report.verdict == "segmentation fault (SIGSEGV) inside mylib::my_op (run 0, call 3)");
    CHECK(report.repeat ==
          std::vector<std::string>{"aoti-dbg run --triage --sync on --level 2 -- python infer.py"});
}

TEST_CASE("The given flags stay in the reproducing commands, unless these set them again") {
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

TEST_CASE("Calls of several threads are reported as a set, and none is named as the one") {
    CrashReport report = crash_inside("a");
    report.in_flight.push_back(call_of("b", 1, 0));
    report = concluded(report);
    CHECK(report.call() == nullptr);
    CHECK(report.verdict ==
          "segmentation fault (SIGSEGV) while 2 threads were inside calls: a (run 0, call 3), "
          "b (run 1, call 0)");
    CHECK(report.fingerprint == concluded(ended_by(SIGSEGV)).fingerprint);
    for (int i = 0; i < 9; ++i)
        report.in_flight.push_back(call_of("c"));
    CHECK(concluded(report).verdict.find("c (run 0, call 3) and 7 more") != std::string::npos);
}

TEST_CASE("A signal outside of any call is reported as such, with the last call or with none") {
    CrashReport report = ended_by(SIGABRT);
    CHECK(concluded(report).verdict == "aborted (SIGABRT); no model call was recorded");
    report.last = call_of("at::_ops::abs::call", 4, 13);
    report = concluded(report);
    CHECK(report.kind == CrashClass::host);
    CHECK(report.verdict ==
          "aborted (SIGABRT) outside any call; the last call was at::_ops::abs::call (run 4, call 13)");
}

TEST_CASE("Between two calls of a run the run and the previous call are named") {
    CrashReport report = crash_inside("AOTInductorModelContainerRun");
    report.in_flight.front().kind = ring::CallKind::run;
    report.in_flight.front().run = 7;
    report.before = {call_of("cpp_fused_relu_0", 7, 1)};
    CHECK(concluded(report).verdict ==
          "segmentation fault (SIGSEGV) between two calls of run 7 of model 0, or after an exception unwound "
          "it; the last call was cpp_fused_relu_0 (run 7, call 1)");
    // A call of another run.
    report.before.front().run = 6;
    CHECK(concluded(report).verdict ==
          "segmentation fault (SIGSEGV) inside run 7 of model 0, or after an exception unwound it; "
          "no call of the run was recorded");
}

TEST_CASE("SIGKILL is of unknown class, and out of memory is a guess or a count") {
    CrashReport report = crash_inside("mylib::my_op");
    report.end.signal = SIGKILL;
    CHECK(concluded(report).kind == CrashClass::unknown);
    CHECK(concluded(report).verdict ==
          "killed (SIGKILL) inside mylib::my_op (run 0, call 3); possibly by the "
          "kernel's out-of-memory killer (a guess)");
    report.oom_kills = 0;
    CHECK(concluded(report).verdict.find("; the sender is unknown") != std::string::npos);
    report.oom_kills = 2;
    CHECK(concluded(report).kind == CrashClass::unknown);
    CHECK(concluded(report).verdict.find("; likely by the kernel's out-of-memory killer, which killed 2 "
                                         "processes of this control group") != std::string::npos);
}

TEST_CASE("Calls without a record are reported, together with the error that was seen") {
    CrashReport report;
    report.end.pid = 4242;
    report.end.signal = SIGSEGV;
    report.recording = 2;
    CHECK(concluded(report).verdict ==
          "segmentation fault (SIGSEGV); calls were made but could not be recorded");
    report.unrecorded_error = 700;
    CHECK(concluded(report).kind == CrashClass::host);  // it did not end by that error
    report.end.signal = 0;
    report.end.exit_status = 95;
    CHECK(concluded(report).verdict ==
          "illegal memory access (CUDA error 700), returned by a call that could not "
          "be recorded; the program then exited with status 95");
    CHECK(concluded(report).kind == CrashClass::kernel);
    const std::string fingerprint = concluded(report).fingerprint;
    report.end.exit_status = 1;
    CHECK(concluded(report).fingerprint == fingerprint);
}

TEST_CASE("The address of a fatal access is reported, and is not part of the fingerprint") {
    CrashReport report = crash_inside("mylib::my_op");
    const std::string fingerprint = concluded(report).fingerprint;
    report.end.address = 0x7f0000001000;
    CHECK(concluded(report).fingerprint == fingerprint);
    std::string text;
    append_report_text(concluded(report), text);
    CHECK(text.find("ended with SIGSEGV at address 0x7f0000001000") != std::string::npos);
    std::string json;
    append_kept_json(concluded(report), json);
    CHECK(nlohmann::json::parse(json).at("ended").at("address") == "0x7f0000001000");
}

TEST_CASE("An exit inside a call is the host's, and so is a descendant's unexplained end, with a guess") {
    CrashReport report = crash_inside("mylib::my_op");
    report.end.signal = 0;
    report.end.exit_status = 3;
    CHECK(concluded(report).kind == CrashClass::host);
    CHECK(concluded(report).verdict ==
          "the program exited with status 3 inside mylib::my_op (run 0, call 3)");
    report.end.is_descendant = true;
    CHECK(concluded(report).kind == CrashClass::host);
    CHECK(concluded(report).verdict ==
          "process 4242 ended abnormally inside mylib::my_op (run 0, call 3); likely by SIGKILL, or by a "
          "signal that the program's own handler caught");
    report.end.is_in_good_order = true;
    CHECK(concluded(report).kind == CrashClass::host);
    CHECK(concluded(report).verdict ==
          "process 4242 ended inside mylib::my_op (run 0, call 3); likely the call ended the process with "
          "_exit, or the program's own signal handler did");
    report.end.is_in_good_order = false;
    report.oom_kills = 1;
    CHECK(concluded(report).kind == CrashClass::unknown);
    report.oom_kills.reset();
    report.end.signal = SIGSEGV;
    report.end.signal_is_guessed = true;
    CHECK(concluded(report).kind == CrashClass::host);
    CHECK(concluded(report).verdict ==
          "segmentation fault (SIGSEGV, inferred from the exit status) inside mylib::my_op (run 0, call 3)");
    report.in_flight.clear();
    CHECK(concluded(report).verdict ==
          "segmentation fault (SIGSEGV, inferred from the exit status); no model call was recorded");
}

TEST_CASE("A failed launch has the class of its CUDA error, and a failed op is the host's") {
    CrashReport report = ended_by(0);
    report.end.exit_status = 1;
    report.failed = call_of("aoti_torch_cpu_addmm_out");
    report.failed->result = 1;
    CHECK(concluded(report).kind == CrashClass::host);
    CHECK(concluded(report).verdict ==
          "aoti_torch_cpu_addmm_out (run 0, call 3) failed; the program then exited with status 1");
    report.failed->result = 0;
    report.failed->unwound_by_exception = true;
    CHECK(concluded(report).verdict ==
          "an exception unwound aoti_torch_cpu_addmm_out (run 0, call 3); the program then exited with "
          "status 1");
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
    report.failed->result = 702;  // the driver's own timeout, without a watchdog here
    CHECK(concluded(report).next.front().find("drives a display") != std::string::npos);
    report.failed->result = 700;
    // The abort of an uncaught exception.
    report.end.signal = SIGABRT;
    report = concluded(report);
    CHECK(report.verdict.rfind("illegal memory access (CUDA error 700), returned by the launch of", 0) == 0);
    CHECK(report.repeat.front() == "CUDA_LAUNCH_BLOCKING=1 aoti-dbg run --triage -- python infer.py");
    CHECK(report.repeat.back() == "compute-sanitizer --tool memcheck python infer.py");
    // The launches that were not known to have finished.
    report.unended = {call_of("first_kernel")};
    report.unended_count = 1;
    CHECK(concluded(report).verdict.find(
              "; 1 launch was not known to have finished: first_kernel (run 0, call 3); the process then") !=
          std::string::npos);
    report.unended.assign(16, call_of("one_kernel"));
    report.unended_count = 99;
    report = concluded(report);
    CHECK(
        report.verdict.find("; 99 launches were not known to have finished: one_kernel (run 0, call 3), ") !=
        std::string::npos);
    CHECK(report.verdict.find(" and 95 more; the process then ended") != std::string::npos);
    CHECK(text_of(report).find("unfinished     one_kernel") != std::string::npos);
    std::string json;
    append_kept_json(report, json);
    CHECK(nlohmann::json::parse(json).at("unended").size() == 16);
    CHECK(nlohmann::json::parse(json).at("unended_count") == 99);
}

TEST_CASE("A wrong argument is the host's, and a failure in the same run mentions it") {
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
          "aoti_torch_cpu_addmm_out (run 2, call 3) failed; the program then exited with status 1; "
          "its run started with a finding: " +
              title);
    // The program continued after the run of both.
    report.failed_survived = true;
    report.end = ended_by(SIGABRT).end;
    CHECK(concluded(report).verdict == "aborted (SIGABRT); no model call was recorded");
    report.failed_survived = false;
    report.end = ended_by(0).end;
    report.end.exit_status = 1;
    report.failed->run = 3;
    CHECK(concluded(report).verdict ==
          "aoti_torch_cpu_addmm_out (run 3, call 3) failed; the program then exited with status 1");
}

TEST_CASE("A finding is the kernel's, and a reported device fault takes precedence over everything") {
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
          "NaN in buf4, first made by cpp_fused_log_0 (run 2, call 9), and 2 more findings");
    report.device = DeviceFault{};
    report.device->kernel = "triton_poi_fused_index_3";
    report.device->line = 14;
    report.in_flight = {call_of("triton_poi_fused_index_3", 7, 41)};
    CHECK(concluded(report).verdict ==
          "fault in triton_poi_fused_index_3 (run 7, call 41), at line 14 of its source");
    // The finding's kernel is unrelated to a faulted kernel without a known launch.
    report.device->kernel = "a_kernel_of_the_programs";
    report.in_flight.clear();
    CHECK(concluded(report).next.front().rfind("rerun as above", 0) == 0);
}

TEST_CASE("A finding of another run than the running ones is not the verdict") {
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
    // Each model counts its own runs.
    report.finding->model = 0;
    report.in_flight.front().model = 1;
    CHECK(concluded(report).verdict == "aborted (SIGABRT) inside mylib::my_op (run 2, call 9)");
    report.in_flight = {call_of("mylib::my_op", 5, 9)};
    report = concluded(report);
    CHECK(report.verdict == "aborted (SIGABRT) inside mylib::my_op (run 5, call 9)");
    CHECK(contains(text_of(report), "suppression    nan in cpp_fused_log_0"));
}

TEST_CASE("The fingerprint depends on class, end, kernel and its line only") {
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
    // Word boundaries count. The digits are a promise to users, so this test has them.
    CHECK(fingerprint_of({"ab", "c"}) != fingerprint_of({"a", "bc"}));
    CHECK(fingerprint_of({"host", "SIGSEGV", "mylib::my_op", ""}) == one.fingerprint);
    CHECK(fingerprint_of({}) == "cbf29ce484222325");
}

TEST_CASE("Inductor's kernel number is not part of the fingerprint") {
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
    // Without a core dump the line is unknown.
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
          "the program exited with status 1; earlier, aoti_torch_cpu_addmm_out (run 0, call 3) failed, but "
          "later runs succeeded");
    CHECK(survived.fingerprint == ended.fingerprint);
    report.shortage = Shortage{};
    CHECK(concluded(report).kind == CrashClass::host);
    const std::string short_of_memory = concluded(report).fingerprint;
    report.failed_survived = false;
    CHECK(concluded(report).kind == CrashClass::oom);
    CHECK(concluded(report).fingerprint == short_of_memory);
}

TEST_CASE("Commands are quoted so that a shell reads the same words") {
    CHECK(shell_text({"python", "a b.py", "it's", "", "$HOME", "--x=1", "t[0]"}) ==
          R"(python 'a b.py' 'it'\''s' '' '$HOME' --x=1 't[0]')");
}

TEST_CASE("Signals without a name have a number") {
    CHECK(signal_name(SIGSEGV) == "SIGSEGV");
    CHECK(signal_name(40) == "signal 40");
    // A file may have any number.
    for (const int number : {-1, NSIG - 1, NSIG, 1 << 30})
        CHECK(signal_name(number) == "signal " + std::to_string(number));
}

TEST_CASE("For a Python process that vanished inside a call, the report says how to learn its signal") {
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

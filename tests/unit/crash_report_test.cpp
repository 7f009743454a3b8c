// Reports: the verdict, class and fingerprint that follow from the facts. crash_report_page_test covers the
// pages.
#include "triage/judge/verdict.hpp"

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/unit/crash_report_fixture.hpp"

namespace aoti_dbg::test::crash_report_test {
namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("A signal inside a call is the host's, and names the call") {
    const Evidence evidence = crash_inside("mylib::my_op");
    CHECK(judge(evidence).kind == CrashClass::host);
    CHECK(judge(evidence).headline == "segmentation fault (SIGSEGV) inside mylib::my_op (run 0, call 3)");
    CHECK(judge(evidence).repeat ==
          std::vector<std::string>{"aoti-dbg run --triage --sync on --level 2 -- python infer.py"});
}

TEST_CASE("The given flags stay in the reproducing commands, unless these set them again") {
    Evidence evidence = crash_inside("mylib::my_op");
    evidence.flags = {{"--level", "3"}, {"--check", "nan,inf"}, {"--processes", "a b"}};
    CHECK(judge(evidence).repeat.front() ==
          "aoti-dbg run --triage --check nan,inf --processes 'a b' --sync on --level 2 -- python infer.py");
    evidence.uses_cuda = true;
    evidence.tool = "/opt/my tools/aoti-dbg";
    CHECK(judge(evidence).repeat.front() ==
          "CUDA_LAUNCH_BLOCKING=1 '/opt/my tools/aoti-dbg' run --triage --level 3 --check nan,inf "
          "--processes 'a b' -- python infer.py");
    evidence.hang.emplace().calls.emplace_back();
    evidence.flags = {{"--check", "nan"}};
    CHECK(contains(judge(evidence).repeat.front(), "run --triage --hang 30 --check nan -- python"));
    evidence.flags.emplace_back("--hang", "5");
    CHECK(contains(judge(evidence).repeat.front(), "run --triage --check nan --hang 5 -- python"));
}

TEST_CASE("Calls of several threads are reported as a set, and none is named as the one") {
    Evidence evidence = crash_inside("a");
    evidence.in_flight.push_back(call_of("b", 1, 0));
    CHECK(evidence.call() == nullptr);
    CHECK(judge(evidence).headline ==
          "segmentation fault (SIGSEGV) while 2 threads were inside calls: a (run 0, call 3), "
          "b (run 1, call 0)");
    CHECK(judge(evidence).fingerprint == judge(ended_by(SIGSEGV)).fingerprint);
    for (int i = 0; i < 9; ++i)
        evidence.in_flight.push_back(call_of("c"));
    CHECK(judge(evidence).headline.find("c (run 0, call 3) and 7 more") != std::string::npos);
}

TEST_CASE("A signal outside of any call is reported as such, with the last call or with none") {
    Evidence evidence = ended_by(SIGABRT);
    CHECK(judge(evidence).headline == "aborted (SIGABRT); no model call was recorded");
    evidence.last = call_of("at::_ops::abs::call", 4, 13);
    CHECK(judge(evidence).kind == CrashClass::host);
    CHECK(judge(evidence).headline ==
          "aborted (SIGABRT) outside any call; the last call was at::_ops::abs::call (run 4, call 13)");
}

TEST_CASE("Between two calls of a run the run and the previous call are named") {
    Evidence evidence = crash_inside("AOTInductorModelContainerRun");
    evidence.in_flight.front().kind = ring::CallKind::run;
    evidence.in_flight.front().run = 7;
    evidence.before = {call_of("cpp_fused_relu_0", 7, 1)};
    CHECK(judge(evidence).headline ==
          "segmentation fault (SIGSEGV) between two calls of run 7 of model 0, or after an exception unwound "
          "it; the last call was cpp_fused_relu_0 (run 7, call 1)");
    // A call of another run.
    evidence.before.front().run = 6;
    CHECK(judge(evidence).headline ==
          "segmentation fault (SIGSEGV) inside run 7 of model 0, or after an exception unwound it; "
          "no call of the run was recorded");
}

TEST_CASE("SIGKILL is of unknown class, and out of memory is a guess or a count") {
    Evidence evidence = crash_inside("mylib::my_op");
    evidence.end.signal = SIGKILL;
    CHECK(judge(evidence).kind == CrashClass::unknown);
    CHECK(judge(evidence).headline ==
          "killed (SIGKILL) inside mylib::my_op (run 0, call 3); possibly by the "
          "kernel's out-of-memory killer (a guess)");
    evidence.oom_kills = 0;
    CHECK(judge(evidence).headline.find("; the sender is unknown") != std::string::npos);
    evidence.oom_kills = 2;
    CHECK(judge(evidence).kind == CrashClass::unknown);
    CHECK(judge(evidence).headline.find("; likely by the kernel's out-of-memory killer, which killed 2 "
                                        "processes of this control group") != std::string::npos);
}

TEST_CASE("Calls without a record are reported, together with the error that was seen") {
    Evidence evidence;
    evidence.end.pid = 4242;
    evidence.end.signal = SIGSEGV;
    evidence.recording = 2;
    CHECK(judge(evidence).headline ==
          "segmentation fault (SIGSEGV); calls were made but could not be recorded");
    evidence.unrecorded_error = 700;
    CHECK(judge(evidence).kind == CrashClass::host);  // it did not end by that error
    evidence.end.signal = 0;
    evidence.end.exit_status = 95;
    CHECK(judge(evidence).headline ==
          "illegal memory access (CUDA error 700), returned by a call that could not "
          "be recorded; the program then exited with status 95");
    CHECK(judge(evidence).kind == CrashClass::kernel);
    const std::string fingerprint = judge(evidence).fingerprint;
    evidence.end.exit_status = 1;
    CHECK(judge(evidence).fingerprint == fingerprint);
}

TEST_CASE("The address of a fatal access is reported, and is not part of the fingerprint") {
    Evidence evidence = crash_inside("mylib::my_op");
    const std::string fingerprint = judge(evidence).fingerprint;
    evidence.end.address = 0x7f0000001000;
    CHECK(judge(evidence).fingerprint == fingerprint);
    const std::string text = text_of(evidence);
    CHECK(text.find("ended with SIGSEGV at address 0x7f0000001000") != std::string::npos);
    const std::string json = kept_json(evidence);
    CHECK(nlohmann::json::parse(json).at("ended").at("address") == "0x7f0000001000");
}

TEST_CASE("An exit inside a call is the host's, and so is a descendant's unexplained end, with a guess") {
    Evidence evidence = crash_inside("mylib::my_op");
    evidence.end.signal = 0;
    evidence.end.exit_status = 3;
    CHECK(judge(evidence).kind == CrashClass::host);
    CHECK(judge(evidence).headline == "the program exited with status 3 inside mylib::my_op (run 0, call 3)");
    evidence.end.is_descendant = true;
    CHECK(judge(evidence).kind == CrashClass::host);
    CHECK(judge(evidence).headline ==
          "process 4242 ended abnormally inside mylib::my_op (run 0, call 3); likely by SIGKILL, or by a "
          "signal that the program's own handler caught");
    evidence.end.is_normal_exit = true;
    CHECK(judge(evidence).kind == CrashClass::host);
    CHECK(judge(evidence).headline ==
          "process 4242 ended inside mylib::my_op (run 0, call 3); likely the call ended the process with "
          "_exit, or the program's own signal handler did");
    evidence.end.is_normal_exit = false;
    evidence.oom_kills = 1;
    CHECK(judge(evidence).kind == CrashClass::unknown);
    evidence.oom_kills.reset();
    evidence.end.signal = SIGSEGV;
    evidence.end.signal_is_guessed = true;
    CHECK(judge(evidence).kind == CrashClass::host);
    CHECK(judge(evidence).headline ==
          "segmentation fault (SIGSEGV, inferred from the exit status) inside mylib::my_op (run 0, call 3)");
    evidence.in_flight.clear();
    CHECK(judge(evidence).headline ==
          "segmentation fault (SIGSEGV, inferred from the exit status); no model call was recorded");
}

TEST_CASE("A failed launch has the class of its CUDA error, and a failed op is the host's") {
    Evidence evidence = ended_by(0);
    evidence.end.exit_status = 1;
    evidence.failed = call_of("aoti_torch_cpu_addmm_out");
    evidence.failed->result = 1;
    CHECK(judge(evidence).kind == CrashClass::host);
    CHECK(judge(evidence).headline ==
          "aoti_torch_cpu_addmm_out (run 0, call 3) failed; the program then exited with status 1");
    evidence.failed->result = 0;
    evidence.failed->unwound_by_exception = true;
    CHECK(judge(evidence).headline ==
          "an exception unwound aoti_torch_cpu_addmm_out (run 0, call 3); the program then exited with "
          "status 1");
    evidence.failed->kind = ring::CallKind::triton;
    evidence.uses_cuda = true;
    for (const auto& [number, kind] : {std::pair{700, CrashClass::kernel},
                                       {214, CrashClass::hardware},
                                       {2, CrashClass::oom},
                                       {702, CrashClass::hang},
                                       {803, CrashClass::driver},
                                       {31, CrashClass::unknown}}) {
        evidence.failed->result = number;
        CAPTURE(number);
        CHECK(judge(evidence).kind == kind);
    }
    evidence.failed->result = 702;  // the driver's own timeout, without a watchdog here
    CHECK(judge(evidence).advice.front().find("drives a display") != std::string::npos);
    evidence.failed->result = 700;
    // The abort of an uncaught exception.
    evidence.end.signal = SIGABRT;
    CHECK(judge(evidence).headline.rfind("illegal memory access (CUDA error 700), returned by the launch of",
                                         0) == 0);
    CHECK(judge(evidence).repeat.front() ==
          "CUDA_LAUNCH_BLOCKING=1 aoti-dbg run --triage -- python infer.py");
    CHECK(judge(evidence).repeat.back() == "compute-sanitizer --tool memcheck python infer.py");
    // The launches that were not known to have finished.
    evidence.unended = {call_of("first_kernel")};
    evidence.unended_count = 1;
    CHECK(judge(evidence).headline.find(
              "; 1 launch was not known to have finished: first_kernel (run 0, call 3); the process then") !=
          std::string::npos);
    evidence.unended.assign(16, call_of("one_kernel"));
    evidence.unended_count = 99;
    CHECK(judge(evidence).headline.find(
              "; 99 launches were not known to have finished: one_kernel (run 0, call 3), ") !=
          std::string::npos);
    CHECK(judge(evidence).headline.find(" and 95 more; the process then ended") != std::string::npos);
    CHECK(text_of(evidence).find("unfinished     one_kernel") != std::string::npos);
    const std::string json = kept_json(evidence);
    CHECK(nlohmann::json::parse(json).at("unended").size() == 16);
    CHECK(nlohmann::json::parse(json).at("unended_count") == 99);
}

TEST_CASE("A wrong argument is the host's, and a failure in the same run mentions it") {
    Evidence evidence = ended_by(0);
    evidence.end.exit_status = 0;
    evidence.finding = Finding{};
    evidence.finding->kind = Finding::Kind::argument;
    evidence.finding->kernel = kModelInputs;
    evidence.finding->run = 2;
    evidence.finding->tensor.label = "arg0_1";
    evidence.finding->check = "dtype";
    evidence.finding->expected = "float32";
    evidence.finding->found = "float64";
    evidence.finding->advice = "convert it";
    evidence.finding_count = 1;
    const std::string title = "model input arg0_1: expected dtype float32, got float64";
    const Evidence found = evidence;
    CHECK(judge(found).headline == title + " (run 2)");
    CHECK(judge(found).kind == CrashClass::host);
    CHECK(judge(found).advice == std::vector<std::string>{"convert it"});
    CHECK(text_of(found).find(title) != std::string::npos);

    evidence.failed = call_of("aoti_torch_cpu_addmm_out", 2);
    evidence.end.exit_status = 1;
    CHECK(judge(evidence).headline ==
          "aoti_torch_cpu_addmm_out (run 2, call 3) failed; the program then exited with status 1; "
          "its run started with a finding: " +
              title);
    // The program continued after the run of both.
    evidence.failed_survived = true;
    evidence.end = ended_by(SIGABRT).end;
    CHECK(judge(evidence).headline == "aborted (SIGABRT); no model call was recorded");
    evidence.failed_survived = false;
    evidence.end = ended_by(0).end;
    evidence.end.exit_status = 1;
    evidence.failed->run = 3;
    CHECK(judge(evidence).headline ==
          "aoti_torch_cpu_addmm_out (run 3, call 3) failed; the program then exited with status 1");
}

TEST_CASE("A finding is the kernel's, and a reported device fault takes precedence over everything") {
    Evidence evidence = ended_by(0);
    evidence.end.exit_status = 0;
    evidence.finding = Finding{};
    evidence.finding->kernel = "cpp_fused_log_0";
    evidence.finding->run = 2;
    evidence.finding->call = 9;
    evidence.finding->tensor.label = "buf4";
    evidence.finding_count = 3;
    CHECK(judge(evidence).kind == CrashClass::kernel);
    CHECK(judge(evidence).headline ==
          "NaN in buf4, first made by cpp_fused_log_0 (run 2, call 9), and 2 more findings");
    CHECK(judge(evidence).advice.front().rfind("rerun with --level 2", 0) == 0);
    evidence.is_measured = true;
    CHECK(contains(judge(evidence).advice.front(), "aoti-dbg show --format text"));
    evidence.device = DeviceFault{};
    evidence.device->kernel = "triton_poi_fused_index_3";
    evidence.device->line = 14;
    evidence.in_flight = {call_of("triton_poi_fused_index_3", 7, 41)};
    CHECK(judge(evidence).headline ==
          "fault in triton_poi_fused_index_3 (run 7, call 41), at line 14 of its source");
    // The finding's kernel is unrelated to a faulted kernel without a known launch.
    evidence.device->kernel = "a_kernel_of_the_programs";
    evidence.in_flight.clear();
    CHECK(judge(evidence).advice.front().rfind("rerun as above", 0) == 0);
}

TEST_CASE("A finding of another run than the running ones is not the verdict") {
    Evidence evidence = ended_by(SIGABRT);
    evidence.finding = Finding{};
    evidence.finding->kernel = "cpp_fused_log_0";
    evidence.finding->run = 2;
    evidence.finding->tensor.label = "buf4";
    evidence.finding->suppression = "nan in cpp_fused_log_0";
    evidence.finding_count = 1;
    CHECK(contains(judge(evidence).headline, "NaN in buf4"));
    evidence.in_flight = {call_of("mylib::my_op", 2, 9)};
    CHECK(contains(judge(evidence).headline, "NaN in buf4"));
    // Each model counts its own runs.
    evidence.finding->model = 0;
    evidence.in_flight.front().model = 1;
    CHECK(judge(evidence).headline == "aborted (SIGABRT) inside mylib::my_op (run 2, call 9)");
    evidence.in_flight = {call_of("mylib::my_op", 5, 9)};
    CHECK(judge(evidence).headline == "aborted (SIGABRT) inside mylib::my_op (run 5, call 9)");
    CHECK(contains(text_of(evidence), "suppression    nan in cpp_fused_log_0"));
}

TEST_CASE("The fingerprint depends on class, end, kernel and its line only") {
    const Evidence one = crash_inside("mylib::my_op");
    Evidence other = crash_inside("mylib::my_op");
    other.end.pid = 7;
    other.in_flight.front().run = 9;
    other.in_flight.front().sequence = 1000;
    other.in_flight.front().line = 30;
    other.in_flight.front().stream = 0x7f3a00000000;
    other.command = {"./server"};
    CHECK(judge(other).fingerprint == judge(one).fingerprint);
    CHECK(judge(one).fingerprint.size() == 16);
    CHECK(judge(crash_inside("mylib::my_op2")).fingerprint != judge(one).fingerprint);
    other.end.signal = SIGBUS;
    CHECK(judge(other).fingerprint != judge(one).fingerprint);
    // Word boundaries count. The digits are a promise to users, so this test has them.
    CHECK(fingerprint_of({"ab", "c"}) != fingerprint_of({"a", "bc"}));
    CHECK(fingerprint_of({"host", "SIGSEGV", "mylib::my_op", ""}) == judge(one).fingerprint);
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
        Evidence evidence = ended_by(SIGABRT);
        evidence.device = DeviceFault{};
        evidence.device->kernel = kernel;
        evidence.device->error = 700;
        evidence.device->line = line;
        return judge(evidence);
    };
    CHECK(of("triton_poi_fused_index_3", 14).fingerprint == of("triton_poi_fused_index_4", 14).fingerprint);
    CHECK(of("triton_poi_fused_index_3", 14).fingerprint != of("triton_poi_fused_index_3", 15).fingerprint);
    CHECK(of("triton_poi_fused_index_3", 14).fingerprint != of("triton_poi_fused_sin_3", 14).fingerprint);
    CHECK(of("my_kernel_3", 14).fingerprint != of("my_kernel_4", 14).fingerprint);
    // Without a core dump the line is unknown.
    CHECK(of("triton_poi_fused_index_3", 14).coarse_fingerprint ==
          of("triton_poi_fused_index_4", 0).fingerprint);
    Evidence marked = ended_by(SIGABRT);
    marked.failed = call_of("cuStreamSynchronize");
    marked.failed->kind = ring::CallKind::wait;
    marked.failed->result = 700;
    marked.faulted = call_of("triton_poi_fused_index_5");
    marked.by_markers = true;
    CHECK(judge(marked).fingerprint == of("triton_poi_fused_index_3", 14).coarse_fingerprint);
    CHECK(judge(marked).coarse_fingerprint == judge(marked).fingerprint);
}

TEST_CASE("A failure that the program survived has the fingerprint of one that ended it") {
    Evidence evidence = ended_by(0);
    evidence.end.exit_status = 1;
    evidence.failed = call_of("aoti_torch_cpu_addmm_out");
    evidence.failed->result = 1;
    const Evidence ended = evidence;
    evidence.failed_survived = true;
    const Evidence survived = evidence;
    CHECK(judge(survived).headline ==
          "the program exited with status 1; earlier, aoti_torch_cpu_addmm_out (run 0, call 3) failed, but "
          "later runs succeeded");
    CHECK(judge(survived).fingerprint == judge(ended).fingerprint);
    evidence.shortage = Shortage{};
    CHECK(judge(evidence).kind == CrashClass::host);
    const std::string short_of_memory = judge(evidence).fingerprint;
    evidence.failed_survived = false;
    CHECK(judge(evidence).kind == CrashClass::oom);
    CHECK(judge(evidence).fingerprint == short_of_memory);
}

TEST_CASE("Signals without a name have a number") {
    CHECK(signal_name(SIGSEGV) == "SIGSEGV");
    CHECK(signal_name(40) == "signal 40");
    // A file may have any number.
    for (const int number : {-1, NSIG - 1, NSIG, 1 << 30})
        CHECK(signal_name(number) == "signal " + std::to_string(number));
}

TEST_CASE("For a Python process that vanished inside a call, the report says how to learn its signal") {
    Evidence evidence = ended_by(0);
    evidence.end.is_descendant = true;
    evidence.end.exit_status = 1;
    evidence.in_flight = {call_of("cpp_fused_div_2")};
    const auto speaks_of_it = [](const Evidence& about) {
        return text_of(about).find("PYTHONFAULTHANDLER=1") != std::string::npos;
    };
    CHECK(speaks_of_it(evidence));
    Evidence known = evidence;
    known.end.signal = SIGFPE;
    CHECK_FALSE(speaks_of_it(known));
    Evidence heeded = evidence;
    heeded.variables = {{"PYTHONFAULTHANDLER", "1"}};
    CHECK_FALSE(speaks_of_it(heeded));
    Evidence other = evidence;
    other.end.program = "/opt/python/bin/server";
    CHECK_FALSE(speaks_of_it(other));
}

}  // namespace aoti_dbg::test::crash_report_test

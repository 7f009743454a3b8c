// The checks of `aoti-dbg doctor` on given facts, of machines that are not available here.
#include <nlohmann/json.hpp>

#include "cli/doctor/doctor.hpp"
#include "cli/doctor/doctor_child.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::cli::doctor_checks_test {
namespace {

constexpr std::uint64_t kGB = 1'000'000'000;

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Its state. There must be advice if and only if it is not ok.
CheckState state_of(const Check& check) {
    CAPTURE(check.text);
    CHECK(check.advice.empty() == (check.state == CheckState::ok));
    CHECK_FALSE(check.text.empty());
    return check.state;
}

constexpr CheckState kOk = CheckState::ok;
constexpr CheckState kWarning = CheckState::warning;
constexpr CheckState kFailure = CheckState::failure;

LibraryFacts sound_library() {
    LibraryFacts facts;
    facts.path = "/opt/lib/libaoti_dbg.so";
    facts.is_loaded = true;
    facts.version = facts.own_version = "0.1.0";
    return facts;
}

DriverFacts sound_driver() {
    DriverFacts facts;
    facts.package = "580.159.04";
    facts.version = 13000;
    facts.init = 0;
    facts.gpus = {{"NVIDIA H200", "GPU-1", "9.0", 150 * kGB, 0}};
    facts.dump_attributes = 0;
    return facts;
}

DoorFacts sound_doors() {
    DoorFacts facts;
    facts.is_library_loaded = facts.has_gpu = facts.is_dlsym_ours = true;
    facts.doors = {{"dlsym", 0, true}, {"cuGetProcAddress", 0, true}, {"linked", 0, true}};
    return facts;
}

FaultFacts sound_fault() {
    FaultFacts facts;
    facts.has_gpu = facts.has_verdict = true;
    facts.launch = 0;
    facts.error = 700;
    facts.kind = "kernel";
    facts.kernel = kFaultKernel;
    facts.verdict = "illegal memory access in aoti_dbg_doctor_fault";
    return facts;
}

OutputFacts sound_output() {
    OutputFacts facts;
    facts.pattern = "aoti_dbg/%t-%p";
    facts.place = "/work";
    facts.size = 1000 * kGB;
    facts.room = 500 * kGB;
    facts.max_bytes = 20 * kGB;
    return facts;
}

TEST_CASE("A library that is missing, does not load or kills the program is a failure, with its message") {
    LibraryFacts none;
    CHECK(state_of(check_library(none)) == kFailure);
    LibraryFacts refused = sound_library();
    refused.is_loaded = false;
    refused.loader = "ERROR: ld.so: object '...' cannot be preloaded (failed to map segment): ignored.";
    CHECK(state_of(check_library(refused)) == kFailure);
    CHECK(contains(check_library(refused).text, "failed to map segment"));
    LibraryFacts deadly = sound_library();
    deadly.trouble = "was killed by SIGSEGV";
    CHECK(state_of(check_library(deadly)) == kFailure);
    CHECK(contains(check_library(deadly).text, "SIGSEGV"));
}

TEST_CASE("A library of another version is a failure, and one without a version a warning") {
    LibraryFacts facts = sound_library();
    facts.version = "0.0.9";
    CHECK(state_of(check_library(facts)) == kFailure);
    CHECK(contains(check_library(facts).text, "expected version 0.1.0 (this command's), got 0.0.9"));
    facts.is_loaded = false;
    facts.trouble = "was killed by SIGSEGV";
    CHECK(contains(check_library(facts).text, "got 0.0.9"));
    facts = sound_library();
    facts.version.clear();
    CHECK(state_of(check_library(facts)) == kWarning);
    CHECK(state_of(check_library(sound_library())) == kOk);
}

TEST_CASE("A driver that hangs, crashes or is broken is a failure; no driver or no GPU is a warning") {
    DriverFacts hangs = sound_driver();
    hangs.trouble = "did not exit within 30 s and was killed";
    CHECK(state_of(check_driver(hangs)) == kFailure);
    CHECK(check_gpus(hangs).empty());
    CHECK_FALSE(hangs.has_gpu());
    DriverFacts missing;
    missing.missing = "libcuda.so.1: cannot open shared object file: No such file or directory";
    CHECK(state_of(check_driver(missing)) == kWarning);
    CHECK(contains(check_driver(missing).text, "CPU models only"));
    missing.missing = "libcuda.so.1: wrong ELF class: ELFCLASS32";
    CHECK(state_of(check_driver(missing)) == kFailure);
    DriverFacts empty;
    CHECK(state_of(check_driver(empty)) == kFailure);
    for (const int error : {3, 34, 46, 802, 803, 804, 999}) {
        DriverFacts broken = sound_driver();
        broken.init = error;
        broken.gpus.clear();
        CHECK(state_of(check_driver(broken)) == kFailure);
    }
}

TEST_CASE("Without a GPU the likely reason is named") {
    DriverFacts facts = sound_driver();
    facts.init = 100;
    facts.gpus.clear();
    CHECK(state_of(check_driver(facts)) == kWarning);
    CHECK(contains(check_driver(facts).text, "CPU models only"));
    CHECK_FALSE(contains(check_driver(facts).advice, "CUDA_VISIBLE_DEVICES"));
    facts.visible = "";
    CHECK(contains(check_driver(facts).advice, "unset CUDA_VISIBLE_DEVICES (now \"\")"));
}

TEST_CASE("A working driver is reported with both of its versions, an old one with a warning") {
    CHECK(check_driver(sound_driver()).text == "580.159.04, CUDA 13.0");
    CHECK(state_of(check_driver(sound_driver())) == kOk);
    DriverFacts old = sound_driver();
    old.package.clear();
    old.version = 12020;
    CHECK(state_of(check_driver(old)) == kWarning);
    CHECK(contains(check_driver(old).text, "CUDA 12.2"));
}

TEST_CASE("For each GPU the check says whether programs may use it") {
    DriverFacts facts = sound_driver();
    facts.gpus.push_back({"NVIDIA A100", "GPU-2", "8.0", 0, 2});
    facts.gpus.push_back({"NVIDIA H200 MIG 1g.18gb", "MIG-3", "9.0", 0, 3});
    const std::vector<Check> checks = check_gpus(facts);
    REQUIRE(checks.size() == 3);
    CHECK(checks[0].text == "NVIDIA H200, GPU-1, 150.0 GB, compute capability 9.0");
    CHECK(state_of(checks[1]) == kWarning);
    CHECK(contains(checks[1].advice, "-i 1"));
    CHECK(state_of(checks[2]) == kOk);
    CHECK(contains(checks[2].text, "a MIG instance, exclusive to one process"));
}

TEST_CASE("A launch that is missing from the ring is a failure, whatever else was seen") {
    DoorFacts facts = sound_doors();
    CHECK(state_of(check_doors(facts)) == kOk);
    facts.doors[1].is_seen = false;
    facts.warnings = {"libx.so also interposes cuGetProcAddress"};
    const Check check = check_doors(facts);
    CHECK(state_of(check) == kFailure);
    CHECK(contains(check.text,
                   "launches (cuGetProcAddress) are not intercepted; the library reports: libx.so also"));
}

TEST_CASE("Another library's dlsym is a failure with or without a GPU, because models are found through it") {
    DoorFacts facts = sound_doors();
    facts.is_dlsym_ours = false;
    facts.dlsym_of = "/lib/libother.so";
    for (const bool has_gpu : {true, false}) {
        facts.has_gpu = has_gpu;
        CHECK(state_of(check_doors(facts)) == kFailure);
        CHECK(contains(check_doors(facts).text, "/lib/libother.so"));
    }
}

TEST_CASE("Entry points that could not be tried are a warning with their names and the reason") {
    DoorFacts no_gpu = sound_doors();
    no_gpu.has_gpu = false;
    no_gpu.doors.clear();
    CHECK(state_of(check_doors(no_gpu)) == kWarning);
    CHECK(contains(check_doors(no_gpu).text, "launches not tested: no usable GPU"));
    DoorFacts stopped = sound_doors();
    stopped.doors.clear();
    stopped.stopped = "cuModuleLoadData: invalid PTX (218)";
    CHECK(state_of(check_doors(stopped)) == kWarning);
    CHECK(contains(check_doors(stopped).advice, "ptxjitcompiler"));
    DoorFacts one_missing = sound_doors();
    one_missing.doors[2] = {"linked", {}, false};
    CHECK(state_of(check_doors(one_missing)) == kWarning);
    CHECK(contains(check_doors(one_missing).text, "not tested: linked"));
    DoorFacts broken_later = sound_doors();
    broken_later.stopped = "cuCtxSynchronize: unspecified launch failure (719)";
    CHECK(state_of(check_doors(broken_later)) == kWarning);
    DoorFacts not_loaded;
    CHECK(state_of(check_doors(not_loaded)) == kWarning);
    DoorFacts crashed = sound_doors();
    crashed.trouble = "was killed by SIGABRT";
    CHECK(state_of(check_doors(crashed)) == kFailure);
}

TEST_CASE("Every known interposing tool gets a line of its own, and no other variable does") {
    InterposerFacts facts;
    facts.system_preload = " /usr/lib/libevil.so ";
    facts.variables = {{"CUDA_COREDUMP_FILE", "/tmp/x"},
                       {"CUDA_INJECTION64_PATH", "/opt/libcupti_thing.so"},
                       {"CUDA_LAUNCH_BLOCKING", "1"},
                       {"LD_AUDIT", "/a.so"},
                       {"LD_PRELOAD", "/usr/lib/libjemalloc.so.2:/opt/libaoti_dbg.so /opt/libspy.so"},
                       {"NSYS_PROFILING_SESSION_ID", "1"},
                       {"NV_NSIGHT_INJECTION_PORT_BASE", "2"},
                       {"NV_SANITIZER_INJECTION_PORT_BASE", "3"},
                       {"PATH", "/usr/bin"}};
    const std::vector<Check> checks = check_interposers(facts);
    CHECK(checks.size() == 9);
    for (const Check& check : checks)
        CHECK(state_of(check) == kWarning);
    const std::string text = doctor_text(checks);
    for (const char* part : {"libevil.so, from /etc/ld.so.preload", "libspy.so, from LD_PRELOAD", "LD_AUDIT",
                             "compute-sanitizer", "Nsight Compute", "Nsight Systems"})
        CHECK(contains(text, part));
    for (const char* part : {"jemalloc", "libaoti_dbg", "PATH=/usr/bin"})
        CHECK_FALSE(contains(text, part));
}

TEST_CASE("Variables that turn a feature off, or are empty, are not interposers") {
    InterposerFacts facts;
    facts.variables = {{"CUDA_LAUNCH_BLOCKING", "0"}, {"CUDA_COREDUMP_FILE", ""}, {"LD_PRELOAD", " : "}};
    const std::vector<Check> checks = check_interposers(facts);
    REQUIRE(checks.size() == 1);
    CHECK(state_of(checks[0]) == kOk);
}

TEST_CASE("The value of a variable cannot control the terminal") {
    InterposerFacts facts;
    facts.variables = {{"LD_PRELOAD", "/x\x1b[2J.so"}, {"CUDA_COREDUMP_FILE", "a\nFAILURE"}};
    for (const Check& check : check_interposers(facts)) {
        CHECK_FALSE(contains(check.text, "\x1b"));
        CHECK_FALSE(contains(check.text, "\n"));
    }
}

TEST_CASE("A driver without core dumps of faults is a warning, like a missing GPU") {
    DriverFacts facts = sound_driver();
    CHECK(state_of(check_dumps(facts)) == kOk);
    facts.dump_attributes = 801;
    CHECK(state_of(check_dumps(facts)) == kWarning);
    CHECK(contains(check_dumps(facts).text, "801"));
    facts.dump_attributes.reset();
    CHECK(state_of(check_dumps(facts)) == kWarning);
    CHECK(state_of(check_dumps(DriverFacts{})) == kWarning);
}

TEST_CASE("A folder that is not writable, full or without room for files is a failure") {
    OutputFacts facts = sound_output();
    facts.refused = "Read-only file system";
    CHECK(state_of(check_output(facts)) == kFailure);
    facts = sound_output();
    facts.room = facts.size / 10;  // the reserve that stays free
    CHECK(state_of(check_output(facts)) == kFailure);
    facts.room = 0;
    facts.size = 0;
    CHECK(state_of(check_output(facts)) == kFailure);
    facts = sound_output();
    facts.file_limit = 4096;
    CHECK(state_of(check_output(facts)) == kFailure);
}

TEST_CASE("A network file system, or less room than may be written, is a warning") {
    OutputFacts facts = sound_output();
    CHECK(state_of(check_output(facts)) == kOk);
    facts.network = "NFS";
    CHECK(state_of(check_output(facts)) == kWarning);
    facts = sound_output();
    facts.room = facts.size / 10 + 19 * kGB;
    CHECK(state_of(check_output(facts)) == kWarning);
    CHECK(contains(check_output(facts).text, "19.0 GB"));
    facts.max_bytes = UINT64_MAX;
    CHECK(state_of(check_output(facts)) == kOk);
}

TEST_CASE("Each limit in the way gets a line, and all others share one") {
    LimitFacts facts;
    facts.staging = 268435456;
    CHECK(check_limits(facts).size() == 1);
    CHECK(contains(check_limits(facts)[0].text, "/dev/shm none"));
    facts.seccomp = 2;
    facts.no_new_privileges = true;
    facts.core = 0;
    facts.locked = 65536;
    REQUIRE(check_limits(facts).size() == 1);
    CHECK(state_of(check_limits(facts)[0]) == kOk);
    CHECK(contains(check_limits(facts)[0].text, "seccomp filter active, no_new_privs set"));
    facts.address_space = 4 * kGB;  // enough for a CPU model
    CHECK(state_of(check_limits(facts)[0]) == kOk);
    facts.has_gpu = true;
    facts.files = 64;
    facts.memory = 512'000'000;
    const std::vector<Check> checks = check_limits(facts);
    CHECK(checks.size() == 3);
    for (const Check& check : checks)
        CHECK(state_of(check) == kWarning);
}

TEST_CASE("A missing torch is a warning, and a missing Python is not") {
    PythonFacts facts;
    CHECK(state_of(check_python(facts)) == kOk);
    facts.program = "/usr/bin/python3";
    CHECK(state_of(check_python(facts)) == kWarning);
    facts.torch = "2.11.0";
    CHECK(check_python(facts).text == "torch 2.11.0, no Triton, from /usr/bin/python3");
    facts.triton = "3.6.0";
    CHECK(check_python(facts).text == "torch 2.11.0, Triton 3.6.0, from /usr/bin/python3");
}

TEST_CASE("Each complaint about the options is a warning") {
    CHECK(state_of(check_options({}).at(0)) == kOk);
    const std::vector<Check> checks = check_options({"one", "two"});
    CHECK(checks.size() == 2);
    CHECK(state_of(checks[0]) == kWarning);
}

TEST_CASE("A verdict with another kernel, another class or no kernel is a failure") {
    FaultFacts facts = sound_fault();
    CHECK(state_of(check_fault(facts, kFaultKernel)) == kOk);
    facts.kernel = "triton_poi_fused_0";
    CHECK(state_of(check_fault(facts, kFaultKernel)) == kFailure);
    facts = sound_fault();
    facts.kind = "hardware";
    CHECK(state_of(check_fault(facts, kFaultKernel)) == kFailure);
    facts = sound_fault();
    facts.has_verdict = false;
    CHECK(state_of(check_fault(facts, kFaultKernel)) == kFailure);
    CHECK(contains(check_fault(facts, kFaultKernel).text,
                   "got none; the program got illegal memory access (700)"));
    facts.error.reset();
    CHECK(contains(check_fault(facts, kFaultKernel).text, "no error within 5 s"));
}

TEST_CASE("A fault that the program does not see is a warning even if the verdict is right") {
    FaultFacts facts = sound_fault();
    facts.error.reset();
    CHECK(state_of(check_fault(facts, kFaultKernel)) == kWarning);
}

TEST_CASE("A fault that could not be tried is a warning, one that hangs or cannot be launched a failure") {
    CHECK(state_of(check_fault({}, kFaultKernel)) == kFailure);
    FaultFacts facts = sound_fault();
    facts.stopped = "cuDevicePrimaryCtxRetain: device busy or unavailable (46)";
    CHECK(state_of(check_fault(facts, kFaultKernel)) == kWarning);
    facts = sound_fault();
    facts.trouble = "did not exit within 30 s and was killed";
    CHECK(state_of(check_fault(facts, kFaultKernel)) == kFailure);
    facts = sound_fault();
    facts.launch = 701;
    CHECK(state_of(check_fault(facts, kFaultKernel)) == kFailure);
    facts.launch.reset();
    CHECK(state_of(check_fault(facts, kFaultKernel)) == kFailure);
}

TEST_CASE("The time and the size of the dump are reported") {
    FaultFacts facts = sound_fault();
    facts.dump_seconds = 0.094;
    facts.dump_bytes = 700000;
    CHECK(contains(check_fault(facts, kFaultKernel).text,
                   "a core dump of 700.0 kB, complete 0.09 s after the launch"));
}

TEST_CASE("The text has a line per check, what to do below it, and counts") {
    CHECK(doctor_text({}) == "0 checks: 0 ok, 0 warnings, 0 failures\n");
    const std::vector<Check> checks = {{"library", kOk, "fine", {}},
                                       {"a name that is too long", kWarning, "so so", "do this"},
                                       {"driver", kFailure, "broken", "do that"}};
    CHECK(doctor_text(checks) ==
          "ok       library      fine\n"
          "warning  a name that is too long so so\n"
          "                      do this\n"
          "FAILURE  driver       broken\n"
          "                      do that\n"
          "3 checks: 1 ok, 1 warning, 1 failure\n");
}

TEST_CASE("JSON has the same checks, whatever the bytes of a name") {
    const std::vector<Check> checks = {{"library", kOk, "\xff\"\n", {}},
                                       {"driver", kFailure, "broken", "do"}};
    const nlohmann::json whole = nlohmann::json::parse(doctor_json(checks));
    CHECK(whole.at("format") == "aoti-dbg-doctor");
    CHECK(whole.at("version") == 1);
    CHECK(whole.at("failures") == 1);
    CHECK(whole.at("warnings") == 0);
    REQUIRE(whole.at("checks").size() == 2);
    CHECK(whole.at("checks").at(0).at("state") == "ok");
    CHECK_FALSE(whole.at("checks").at(0).contains("advice"));
    CHECK(whole.at("checks").at(1).at("state") == "failure");
    CHECK(whole.at("checks").at(1).at("advice") == "do");
}

}  // namespace
}  // namespace aoti_dbg::cli::doctor_checks_test

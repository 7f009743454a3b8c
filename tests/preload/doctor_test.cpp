// `aoti-dbg doctor` on this machine, without a driver and over the software one: it looks through every door,
// lets a kernel fault, comes to an end whatever hangs, and leaves nothing behind.
#include <nlohmann/json.hpp>

#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// `aoti-dbg doctor --format json <flags>`, in an empty folder that is its TMPDIR too.
struct Doctor {
    explicit Doctor(const Lines& flags = {}, Variables variables = {}) {
        Lines argv = {AOTI_DBG_TOOL, "doctor", "--format", "json"};
        argv.insert(argv.end(), flags.begin(), flags.end());
        variables.insert({"TMPDIR", folder.path().string()});
        outcome = run_bare(argv, variables, std::chrono::seconds(120), folder.path().string());
        CAPTURE(outcome.err, outcome.out);
        REQUIRE_FALSE(outcome.timed_out);
        whole = Json::parse(outcome.out);
        CHECK(fs::is_empty(folder.path()));
        CHECK(outcome.exit_code == (whole.at("failures") == 0 ? 0 : 1));
    }
    /// The first of that name.
    [[nodiscard]] Json check(const std::string& name) const {
        for (const Json& check : whole.at("checks"))
            if (check.at("name") == name) return check;
        return Json{{"state", "absent"}, {"text", ""}};
    }
    [[nodiscard]] std::string state(const std::string& name) const { return check(name).at("state"); }
    [[nodiscard]] std::string text(const std::string& name) const { return check(name).at("text"); }

    TempFolder folder;
    Outcome outcome;
    Json whole;
};

/// No driver of this machine's own is found: one that cannot be loaded stands before it.
Variables no_driver(const TempFolder& folder) {
    write_text(folder.path() / "libcuda.so.1", "no library");
    return {{"LD_LIBRARY_PATH", folder.path().string()}};
}

TEST_CASE("A driver that cannot be loaded is a failure, and what else can be said is said") {
    const TempFolder broken;
    const Doctor doctor({"--fault"}, no_driver(broken));
    CHECK(doctor.outcome.exit_code == 1);
    CHECK(doctor.state("driver") == "failure");
    CHECK(doctor.state("library") == "ok");
    CHECK(contains(doctor.text("library"), "libaoti_dbg.so, version "));
    CHECK(doctor.state("doors") == "warning");
    CHECK(contains(doctor.text("doors"), "model loads (dlsym) are intercepted"));
    CHECK(doctor.state("fault") == "failure");
    CHECK(doctor.text("fault") == "not tested: no usable GPU");
    CHECK(doctor.state("output") != "absent");
    CHECK(doctor.state("limits") != "absent");
}

TEST_CASE("The text has the same checks, one a line, and ends with their number") {
    const TempFolder folder;
    const Outcome outcome = run_bare({AOTI_DBG_TOOL, "doctor"}, {}, std::chrono::seconds(120), folder.path());
    const Lines lines = lines_of(outcome.out);
    REQUIRE(lines.size() > 5);
    CHECK(contains(lines.front(), " library "));
    CHECK(contains(lines.back(), " checks: "));
    CHECK(outcome.err.empty());
}

TEST_CASE("Wrong usage is told with the nearest word, and nothing is tried") {
    const Outcome format = run_bare({AOTI_DBG_TOOL, "doctor", "--format", "jsno"});
    CHECK(format.exit_code == 2);
    CHECK(contains(format.err, "Did you mean \"json\"?"));
    const Outcome seconds = run_bare({AOTI_DBG_TOOL, "doctor", "--seconds", "0"});
    CHECK(seconds.exit_code == 2);
    CHECK(seconds.err == "aoti-dbg doctor: error AD3001: --seconds: expected 1 to 3600, got \"0\".\n");
    const Outcome argument = run_bare({AOTI_DBG_TOOL, "doctor", "somewhere"});
    CHECK(argument.exit_code == 2);
    CHECK(argument.err == "aoti-dbg doctor: error AD3001: unexpected argument \"somewhere\".\n");
    CHECK(contains(run_bare({AOTI_DBG_TOOL, "docter"}).err, "Did you mean \"doctor\"?"));
    CHECK_FALSE(contains(run_bare({AOTI_DBG_TOOL, "doctor", "--help"}).out, "--child"));
}

TEST_CASE(
    "What the person asked of the library changes nothing about the trials, and wrong options are told") {
    const Doctor doctor({}, {{"AOTI_DBG_LEVEL", "0"},
                             {"AOTI_DBG_PROCESSES", "nobody"},
                             {"AOTI_DBG_RING", "0"},
                             {"AOTI_DBG_KERNELS", "none"},
                             {"AOTI_DBG_SIED", "both"}});
    CHECK(doctor.state("library") == "ok");
    CHECK(doctor.state("options") == "warning");
    CHECK(contains(doctor.text("options"), "AOTI_DBG_SIED"));
}

TEST_CASE("An output folder that cannot be made is a failure with its reason") {
    const TempFolder folder;
    write_text(folder.path() / "file", "");
    const Doctor doctor({}, {{"AOTI_DBG_OUT", (folder.path() / "file" / "out").string()}});
    CHECK(doctor.state("output") == "failure");
    CHECK(contains(doctor.text("output"), "Not a directory"));
}

TEST_CASE("A command without its library says so, and does not start anything under it") {
    const TempFolder folder;
    const fs::path tool = folder.path() / "aoti-dbg";
    fs::copy_file(AOTI_DBG_TOOL, tool);
    const Outcome outcome = run_bare({tool.string(), "doctor"}, {}, std::chrono::seconds(60), folder.path());
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.out, "FAILURE  library      libaoti_dbg.so was not found"));
    CHECK(contains(outcome.out, "not tested: the library was not loaded"));
}

TEST_CASE("A library that the loader refuses is told in the loader's words") {
    const TempFolder folder;
    const fs::path tool = folder.path() / "aoti-dbg";
    fs::copy_file(AOTI_DBG_TOOL, tool);
    write_text(folder.path() / "libaoti_dbg.so", "no library");
    const Outcome outcome = run_bare({tool.string(), "doctor"}, {}, std::chrono::seconds(60), folder.path());
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.out, "cannot be preloaded"));
    CHECK(contains(outcome.out, "ERROR: ld.so: "));
}

#ifdef AOTI_DBG_HAS_FAKE_CUDA

Variables with_driver(Variables variables = {}) {
    variables.insert({"LD_LIBRARY_PATH", AOTI_DBG_FAKES});
    return variables;
}

TEST_CASE("Over a driver every launch is seen, through each of the doors") {
    for (const char* is_inline : {"0", "1"}) {
        const Doctor doctor({}, with_driver({{"FAKE_CUDA_INLINE", is_inline}, {"FAKE_CUDA_DEVICES", "2"}}));
        CHECK(doctor.outcome.exit_code == 0);
        CHECK(contains(doctor.text("driver"), "CUDA 13.0"));
        CHECK(contains(doctor.text("GPU 1"),
                       "Software device, GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1, 8.6 GB"));
        CHECK(doctor.state("doors") == "ok");
        CHECK(doctor.text("doors") ==
              "model loads (dlsym) and launches (dlsym, cuGetProcAddress, linked) are intercepted");
        CHECK(doctor.state("core dumps") == "ok");
        CHECK(doctor.state("fault") == "absent");
    }
}

TEST_CASE("The verdict on a real fault names the kernel that faulted") {
    for (const char* is_inline : {"0", "1"}) {
        const Doctor doctor({"--fault"}, with_driver({{"FAKE_CUDA_INLINE", is_inline}}));
        CHECK(doctor.outcome.exit_code == 0);
        CHECK(doctor.state("fault") == "ok");
        CHECK(contains(doctor.text("fault"), "illegal memory access in aoti_dbg_doctor_fault"));
        CHECK(contains(doctor.text("fault"), "class kernel"));
        CHECK(contains(doctor.text("fault"), " s after the launch"));
    }
}

TEST_CASE("Where the driver writes no core dump, completion markers name the kernel") {
    const Doctor doctor({"--fault"}, with_driver({{"FAKE_CUDA_NO_COREDUMP", "1"}}));
    CHECK(doctor.outcome.exit_code == 0);
    CHECK(doctor.state("core dumps") == "warning");
    CHECK(doctor.state("fault") == "ok");
    CHECK(contains(
        doctor.text("fault"),
        "illegal memory access (CUDA error 700) in aoti_dbg_doctor_fault, according to completion markers"));
}

TEST_CASE("Where it takes no markers either, no verdict names the kernel: a failure of --fault alone") {
    const Variables variables =
        with_driver({{"FAKE_CUDA_NO_COREDUMP", "1"}, {"FAKE_CUDA_NO_STREAM_VALUES", "1"}});
    const Doctor doctor({"--fault"}, variables);
    CHECK(doctor.outcome.exit_code == 1);
    CHECK(doctor.state("core dumps") == "warning");
    CHECK(doctor.state("fault") == "failure");
    CHECK(contains(doctor.text("fault"),
                   "expected a verdict of class kernel on aoti_dbg_doctor_fault, got class "));
    CHECK(contains(doctor.text("fault"), "; the program got illegal memory access (700)"));
    CHECK(Doctor({}, variables).outcome.exit_code == 0);
}

TEST_CASE("Core dumps that the person has asked for are left to him, and the line says whose they are") {
    const TempFolder folder;
    const std::string his = (folder.path() / "his.core").string();
    const Doctor doctor({"--fault"}, with_driver({{"CUDA_COREDUMP_FILE", his}}));
    CHECK(doctor.state("interposers") == "warning");
    CHECK(contains(doctor.text("interposers"), "CUDA_COREDUMP_FILE=" + his));
    CHECK(doctor.state("fault") == "ok");
    CHECK(contains(doctor.text("fault"), "according to completion markers"));
}

TEST_CASE("A library that stands before the driver's look-up is found by what it keeps from being seen") {
    const std::string other = victim_path("libinterposer_procaddr.so");
    const Doctor doctor({}, with_driver({{"LD_PRELOAD", preload_value(other)}}));
    CHECK(doctor.state("interposers") == "warning");
    CHECK(contains(doctor.text("interposers"), "libinterposer_procaddr.so"));
    CHECK(doctor.state("doors") == "failure");
    CHECK(contains(doctor.text("doors"), "launches (cuGetProcAddress) are not intercepted"));
    CHECK(contains(doctor.text("doors"), "libinterposer_procaddr.so also interposes"));
}

TEST_CASE("A GPU that hangs is waited for no longer than was said") {
    const Doctor doctor({"--fault", "--seconds", "1"}, with_driver({{"FAKE_CUDA_DELAY_US", "600000000"}}));
    CHECK(doctor.outcome.exit_code == 1);
    CHECK(doctor.state("library") == "ok");
    CHECK(doctor.state("driver") == "ok");
    CHECK(contains(doctor.text("doors"), "did not exit within 1 s and was killed"));
    CHECK(contains(doctor.text("fault"), "did not exit within 1 s and was killed"));
}

TEST_CASE("Without a GPU behind the driver, CPU models are what the machine is ready for") {
    const Doctor doctor({"--fault"},
                        with_driver({{"FAKE_CUDA_DEVICES", "0"}, {"CUDA_VISIBLE_DEVICES", "7"}}));
    // Who asks for a fault wants to know.
    CHECK(doctor.outcome.exit_code == 1);
    CHECK(doctor.state("driver") == "warning");
    CHECK(contains(doctor.text("driver"), "CPU models only"));
    CHECK(contains(doctor.check("driver").at("advice"), "unset CUDA_VISIBLE_DEVICES (now \"7\")"));
    CHECK(doctor.state("fault") == "failure");
    CHECK(Doctor({}, with_driver({{"FAKE_CUDA_DEVICES", "0"}})).outcome.exit_code == 0);
}

TEST_CASE("A driver that refuses launches is no door that is not seen") {
    const Doctor doctor({"--fault"}, with_driver({{"FAKE_CUDA_REFUSE", "aoti_dbg_doctor_linked"}}));
    CHECK(doctor.state("doors") == "warning");
    CHECK(contains(doctor.text("doors"), "not tested: linked: too many resources"));
    const Doctor refused({"--fault"}, with_driver({{"FAKE_CUDA_REFUSE", "aoti_dbg_doctor_fault"}}));
    CHECK(refused.state("fault") == "failure");
}

#endif

}  // namespace
}  // namespace aoti_dbg::test

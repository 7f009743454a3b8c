// `aoti-dbg doctor` on this machine, without a driver and on the fake one. It tries every launch entry point,
// makes a kernel fault, ends even if something hangs, and leaves no files behind.
#include <nlohmann/json.hpp>

#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::doctor_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// `aoti-dbg doctor --format json <flags>`, in an empty folder that is its TMPDIR too.
struct Doctor {
    explicit Doctor(const Lines& flags = {}, Variables variables = {}) {
        Lines argv = {places::kTool, "doctor", "--format", "json"};
        argv.insert(argv.end(), flags.begin(), flags.end());
        variables.insert({"TMPDIR", folder.path().string()});
        outcome = run_bare(argv, variables, std::chrono::seconds(120), folder.path().string());
        CAPTURE(outcome.err, outcome.out);
        REQUIRE_FALSE(outcome.timed_out);
        whole = Json::parse(outcome.out);
        CHECK(fs::is_empty(folder.path()));
        CHECK(outcome.exit_code == (whole.at("failures") == 0 ? 0 : 1));
    }
    /// The first check of that name.
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

/// Hides this machine's driver behind a file that cannot be loaded.
Variables no_driver(const TempFolder& folder) {
    write_text(folder.path() / "libcuda.so.1", "no library");
    return {{"LD_LIBRARY_PATH", folder.path().string()}};
}

TEST_CASE("A driver that cannot be loaded is a failure, and the other checks still report") {
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

TEST_CASE("The text has the same checks, one per line, and ends with their count") {
    const TempFolder folder;
    const Outcome outcome = run_bare({places::kTool, "doctor"}, {}, std::chrono::seconds(120), folder.path());
    const Lines lines = lines_of(outcome.out);
    REQUIRE(lines.size() > 5);
    CHECK(contains(lines.front(), " library "));
    CHECK(contains(lines.back(), " checks: "));
    CHECK(outcome.err.empty());
}

TEST_CASE("Wrong usage gets the nearest word as a hint, and nothing is tried") {
    const Outcome format = run_bare({places::kTool, "doctor", "--format", "jsno"});
    CHECK(format.exit_code == 2);
    CHECK(contains(format.err, "Did you mean \"json\"?"));
    const Outcome seconds = run_bare({places::kTool, "doctor", "--seconds", "0"});
    CHECK(seconds.exit_code == 2);
    CHECK(seconds.err == "aoti-dbg doctor: error AD3001: --seconds: expected 1 to 3600, got \"0\".\n");
    const Outcome argument = run_bare({places::kTool, "doctor", "somewhere"});
    CHECK(argument.exit_code == 2);
    CHECK(
        argument.err ==
        "aoti-dbg doctor: error AD3001: unexpected argument \"somewhere\". See `aoti-dbg doctor --help`.\n");
    CHECK(contains(run_bare({places::kTool, "docter"}).err, "Did you mean \"doctor\"?"));
    CHECK_FALSE(contains(run_bare({places::kTool, "doctor", "--help"}).out, "--child"));
}

TEST_CASE("The user's library options do not affect the trials, and wrong options are reported") {
    const Doctor doctor({}, {{"AOTI_DBG_LEVEL", "0"},
                             {"AOTI_DBG_PROCESSES", "nobody"},
                             {"AOTI_DBG_RING", "0"},
                             {"AOTI_DBG_KERNELS", "none"},
                             {"AOTI_DBG_SIED", "both"}});
    CHECK(doctor.state("library") == "ok");
    CHECK(doctor.state("options") == "warning");
    CHECK(contains(doctor.text("options"), "AOTI_DBG_SIED"));
}

TEST_CASE("An output folder that cannot be created is a failure with its reason") {
    const TempFolder folder;
    write_text(folder.path() / "file", "");
    const Doctor doctor({}, {{"AOTI_DBG_OUT", (folder.path() / "file" / "out").string()}});
    CHECK(doctor.state("output") == "failure");
    CHECK(contains(doctor.text("output"), "Not a directory"));
}

TEST_CASE("Without its library the command says so and starts nothing under it") {
    const TempFolder folder;
    const fs::path tool = folder.path() / "aoti-dbg";
    fs::copy_file(places::kTool, tool);
    const Outcome outcome = run_bare({tool.string(), "doctor"}, {}, std::chrono::seconds(60), folder.path());
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.out, "FAILURE  library      libaoti_dbg.so was not found"));
    CHECK(contains(outcome.out, "not tested: the library was not loaded"));
}

TEST_CASE("A library that the loader refuses is reported with the loader's message") {
    const TempFolder folder;
    const fs::path tool = folder.path() / "aoti-dbg";
    fs::copy_file(places::kTool, tool);
    write_text(folder.path() / "libaoti_dbg.so", "no library");
    const Outcome outcome = run_bare({tool.string(), "doctor"}, {}, std::chrono::seconds(60), folder.path());
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.out, "cannot be preloaded"));
    CHECK(contains(outcome.out, "ERROR: ld.so: "));
}

TEST_CASE("A library from another release is a failure, although it loads") {
    const TempFolder folder;
    fs::copy_file(places::kTool, folder.path() / "aoti-dbg");
    const fs::path library = folder.path() / "libaoti_dbg.so";
    std::string bytes = read_text(fs::path(places::kTool).parent_path() / "libaoti_dbg.so");
    const std::string owner("aoti-dbg\0\0\0\0", 12);
    const std::size_t note = bytes.find(owner + "0.");
    REQUIRE(note != std::string::npos);
    bytes[note + owner.size()] = '9';
    write_text(library, bytes);
    fs::permissions(library, fs::perms::owner_all);
    const std::string tool = folder.path() / "aoti-dbg";
    const Outcome outcome = run_bare({tool, "doctor"}, {}, std::chrono::seconds(60), folder.path());
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.out,
                   "FAILURE  library      " + fs::canonical(library).string() + ": expected version 0."));
    CHECK(contains(outcome.out, " (this command's), got 9."));
    CHECK(contains(outcome.out, "Install the command and the library from the same release."));
    CHECK(contains(outcome.out, "model loads (dlsym) are intercepted"));
}

#ifdef AOTI_DBG_HAS_FAKE_CUDA

Variables with_driver(Variables variables = {}) {
    variables.insert({"LD_LIBRARY_PATH", places::kFakes});
    return variables;
}

TEST_CASE("On a driver every launch is seen, through each entry point") {
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

TEST_CASE("Without markers too, no verdict names the kernel, which is a failure with --fault only") {
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

TEST_CASE("Core dumps that the user requested are left alone, and the line says so") {
    const TempFolder folder;
    const std::string his = (folder.path() / "his.core").string();
    const Doctor doctor({"--fault"}, with_driver({{"CUDA_COREDUMP_FILE", his}}));
    CHECK(doctor.state("interposers") == "warning");
    CHECK(contains(doctor.text("interposers"), "CUDA_COREDUMP_FILE=" + his));
    CHECK(doctor.state("fault") == "ok");
    CHECK(contains(doctor.text("fault"), "according to completion markers"));
}

TEST_CASE("A library that intercepts the driver's symbol lookup is found by the launches it hides") {
    const std::string other = victim_path("libinterposer_procaddr.so");
    const Doctor doctor({}, with_driver({{"LD_PRELOAD", preload_value(other)}}));
    CHECK(doctor.state("interposers") == "warning");
    CHECK(contains(doctor.text("interposers"), "libinterposer_procaddr.so"));
    CHECK(doctor.state("doors") == "failure");
    CHECK(contains(doctor.text("doors"), "launches (cuGetProcAddress) are not intercepted"));
    CHECK(contains(doctor.text("doors"), "libinterposer_procaddr.so also interposes"));
}

TEST_CASE("Doctor waits for a hung GPU no longer than the given time") {
    const Doctor doctor({"--fault", "--seconds", "1"}, with_driver({{"FAKE_CUDA_DELAY_US", "600000000"}}));
    CHECK(doctor.outcome.exit_code == 1);
    CHECK(doctor.state("library") == "ok");
    CHECK(doctor.state("driver") == "ok");
    CHECK(contains(doctor.text("doors"), "did not exit within 1 s and was killed"));
    CHECK(contains(doctor.text("fault"), "did not exit within 1 s and was killed"));
}

TEST_CASE("Without a GPU behind the driver, the machine is reported as ready for CPU models only") {
    const Doctor doctor({"--fault"},
                        with_driver({{"FAKE_CUDA_DEVICES", "0"}, {"CUDA_VISIBLE_DEVICES", "7"}}));
    // With --fault the user expects a trial on a GPU.
    CHECK(doctor.outcome.exit_code == 1);
    CHECK(doctor.state("driver") == "warning");
    CHECK(contains(doctor.text("driver"), "CPU models only"));
    CHECK(contains(doctor.check("driver").at("advice"), "unset CUDA_VISIBLE_DEVICES (now \"7\")"));
    CHECK(doctor.state("fault") == "failure");
    CHECK(Doctor({}, with_driver({{"FAKE_CUDA_DEVICES", "0"}})).outcome.exit_code == 0);
}

TEST_CASE("A driver that refuses launches does not count as an unseen entry point") {
    const Doctor doctor({"--fault"}, with_driver({{"FAKE_CUDA_REFUSE", "aoti_dbg_doctor_linked"}}));
    CHECK(doctor.state("doors") == "warning");
    CHECK(contains(doctor.text("doors"), "not tested: linked: too many resources"));
    const Doctor refused({"--fault"}, with_driver({{"FAKE_CUDA_REFUSE", "aoti_dbg_doctor_fault"}}));
    CHECK(refused.state("fault") == "failure");
}

#endif

}  // namespace
}  // namespace aoti_dbg::test::doctor_test

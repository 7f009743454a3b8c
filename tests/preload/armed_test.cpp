// Crash triage on the fake driver. The library requests the driver's fault record at the only moment it can,
// and keeps every call in the flight ring. The program must not notice, whether it faults or not.
#include <cstdlib>
#include <map>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::armed_test {
namespace {

namespace fs = std::filesystem;

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

int times_said(const std::string& text, const std::string& part) {
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

const Lines kProgram = cuda_models({"--runs", "2"}, {"stats"});

Preloaded armed(Variables variables, const Lines& argv = kProgram) {
    variables.insert({"AOTI_DBG_LEVEL", "0"});
    variables.insert({"AOTI_DBG_TRIAGE", "1"});
    variables.insert({"AOTI_DBG_KEEP_DUMP", "1"});
    return Preloaded(argv, variables);
}

void check_as_bare(const Preloaded& run, const Lines& argv, const Variables& fakes) {
    const Outcome bare = run_bare(argv, fakes);
    CHECK(run.outcome.out == bare.out);
    CHECK(run.outcome.exit_code == bare.exit_code);
    CHECK(run.outcome.signal == bare.signal);
}

TEST_CASE("Whichever kernel faults, the driver's record lands in the output folder and is reported") {
    std::map<std::string, int> kernels;
    for (const char* launch : {"1", "2", "3", "4", "5", "6", "9"}) {
        for (const bool is_inline : {false, true}) {
            Variables fakes = {{"FAKE_CUDA_FAIL_AT", launch}};
            if (is_inline) fakes["FAKE_CUDA_INLINE"] = "1";
            CAPTURE(launch, is_inline);
            const Preloaded run = armed(fakes);
            check_as_bare(run, kProgram, fakes);
            const std::string dump = Preloaded::show(run.out() / "gpu.core");
            const std::size_t at = dump.find("kernel    ");
            REQUIRE(at != std::string::npos);
            // The record has little of the device's memory, and the driver does not abort.
            CHECK(contains(dump, "contents 0x3f"));
            CHECK(contains(run.outcome.err, "GPU core dump: " + (run.out() / "gpu.core").string()));
            const std::string kernel = dump.substr(at + 10, dump.find(',', at) - at - 10);
            CHECK(contains(run.show(), " " + kernel));  // the model's add_kernel_0
            ++kernels[kernel];
        }
    }
    CHECK(kernels.size() > 3);
}

TEST_CASE("The report names kernel, call, block and thread, and the program handles the fault itself") {
    for (const char* launch : {"1", "2", "5", "9"}) {
        CAPTURE(launch);
        const TempFolder folder;
        const Variables variables = {{"FAKE_CUDA_FAIL_AT", launch},
                                     {"AOTI_DBG_KEEP_DUMP", "1"},
                                     {"AOTI_DBG_OUT", (folder.path() / "out").string()}};
        Lines argv = {places::kTool, "run", "--triage", "--"};
        argv.insert(argv.end(), kProgram.begin(), kProgram.end());
        const Outcome run = run_bare(argv, variables);
        const Outcome bare = run_bare(kProgram, {{"FAKE_CUDA_FAIL_AT", launch}});
        CHECK(run.out == bare.out);
        CHECK(run.exit_code == bare.exit_code);
        const std::string report = read_text(folder.path() / "out" / "report.txt");
        const std::string dump = Preloaded::show(folder.path() / "out" / "gpu.core");
        const std::size_t at = dump.find("kernel    ");
        REQUIRE(at != std::string::npos);
        const std::string kernel = dump.substr(at + 10, dump.find(',', at) - at - 10);
        CAPTURE(report, kernel);
        CHECK(contains(report, "illegal memory access in " + kernel));
        CHECK(
            contains(report, "block [1, 0, 0], thread [3, 0, 0] of grid [40, 1, 1] x [128, 1, 1] on cuda:0"));
        CHECK(contains(report, ", call "));
        CHECK(contains(report, "kernel"));
        CHECK(contains(run.err, report));
        const std::string json = read_text(folder.path() / "out" / "report.json");
        CHECK(contains(json, "\"kernel\""));
        CHECK(contains(json, ": read of 4 bytes at 0x10, at line 40 of its source"));
        CHECK(contains(json, "\"address\": \"0x10\""));
        CHECK(contains(json, "\"access\": \"read\""));
        // An op launches the first kernel, so the report gives the op's place and arguments.
        const bool is_of_op =
            contains(json, "fake_sgemm_kernel, inside aoti_torch_cuda_addmm_out (run 0, call 0)");
        CHECK(is_of_op == (std::string(launch) == "1"));
        CHECK(contains(json, "\"original_aten\""));
    }
}

TEST_CASE("Without a driver record, the failed launch is reported and the program ends as it does bare") {
    const TempFolder folder;
    const std::string out = (folder.path() / "out").string();
    const Outcome run = run_bare({places::kTool, "run", "--triage", "--scope", "all", "--",
                                  victim_path("numbered_launches"), "200", "1", "1"},
                                 {{"FAKE_CUDA_FAIL_AT", "50"},
                                  {"FAKE_CUDA_INLINE", "1"},
                                  {"FAKE_CUDA_NO_COREDUMP", "1"},
                                  {"AOTI_DBG_OUT", out}});
    CHECK(run.exit_code == 0);
    CHECK(run.out == "end: 700\n");
    CHECK(contains(run.err,
                   "illegal memory access (CUDA error 700) in kernel_4, according to completion markers"));
}

TEST_CASE("A fault report mentions ECC errors only where the GPU has counted some") {
    const auto notes_with = [](const char* counted) {
        const TempFolder folder;
        const std::string out = (folder.path() / "out").string();
        const char* const present = std::getenv("LD_LIBRARY_PATH");
        const std::string path = std::string(places::kFakes) + "/nvml:" + (present == nullptr ? "" : present);
        run_bare(joined({places::kTool, "run", "--triage", "--"}, kProgram), {{"FAKE_CUDA_FAIL_AT", "5"},
                                                                              {"FAKE_NVML", counted},
                                                                              {"LD_LIBRARY_PATH", path},
                                                                              {"AOTI_DBG_OUT", out}});
        return read_text(out + "/report.json");
    };
    CHECK(contains(
        notes_with("ecc"),
        "GPU 1 (as nvidia-smi counts) counted 3 uncorrected memory errors since the driver was loaded: if "
        "the fault is on this GPU, the hardware may be at fault"));
    CHECK(contains(notes_with("rows"), "GPU 1 (as nvidia-smi counts) needs a reset to remap memory rows"));
    for (const char* counted : {"old", "none"}) {
        const std::string report = notes_with(counted);
        CHECK(contains(report, "illegal memory access"));
        CHECK_FALSE(contains(report, "hardware"));
    }
}

TEST_CASE("A fault is reported even if the launched program exits normally") {
    const TempFolder folder;
    const std::string out = (folder.path() / "out").string();
    Lines argv = {places::kTool, "run", "--triage", "--", "/bin/sh", "-c", "\"$@\"; exit 0", "sh"};
    argv.insert(argv.end(), kProgram.begin(), kProgram.end());
    const Outcome run = run_bare(argv, {{"FAKE_CUDA_FAIL_AT", "5"}, {"AOTI_DBG_OUT", out}});
    CHECK(run.exit_code == 0);
    CHECK(contains(run.err, "illegal memory access in "));
    CHECK(fs::exists(folder.path() / "out" / "report.json"));
    const Outcome sound = run_bare(argv, {{"AOTI_DBG_OUT", out + "2"}});
    CHECK(sound.exit_code == 0);
    CHECK_FALSE(fs::exists(out + "2/report.json"));
}

TEST_CASE("With triage alone nothing is printed, and every call is recorded, selected or not") {
    const Preloaded run = armed({{"AOTI_DBG_KERNELS", "nothing_is_called_so"}});
    check_as_bare(run, kProgram, {});
    CHECK(run.log_lines().empty());
    for (const std::string& kernel : kCudaRun)
        CHECK(rows_with(run.show(), kernel).size() == 2);
    CHECK_FALSE(fs::exists(run.out() / "gpu.core"));
    CHECK_FALSE(contains(run.outcome.err, "core dump"));
}

TEST_CASE("With a level, the selected calls are printed and all calls are recorded") {
    const Preloaded run = armed({{"AOTI_DBG_LEVEL", "3"}, {"AOTI_DBG_KERNELS", "*sqrt*"}});
    check_as_bare(run, kProgram, {});
    CHECK(run.log_lines() == times(2, log_of({"triton_poi_fused_sqrt_2"})));
    CHECK(rows_with(run.show(), "triton_poi_fused_relu_0").size() == 2);
}

TEST_CASE("Without triage, the library requests nothing from the driver") {
    const Preloaded run(kProgram, {{"FAKE_CUDA_FAIL_AT", "3"}});
    check_as_bare(run, kProgram, {{"FAKE_CUDA_FAIL_AT", "3"}});
    CHECK_FALSE(fs::exists(run.out() / "gpu.core"));
}

TEST_CASE("Core dump settings of the user stay in place, and one message says so") {
    const TempFolder folder;
    const std::string his = (folder.path() / "his.core").string();
    const Variables fakes = {
        {"FAKE_CUDA_FAIL_AT", "3"}, {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"}, {"CUDA_COREDUMP_FILE", his}};
    const Preloaded run = armed(fakes);
    check_as_bare(run, kProgram, fakes);
    CHECK(contains(Preloaded::show(his), "contents 0"));
    CHECK_FALSE(fs::exists(run.out() / "gpu.core"));
    CHECK(times_said(run.outcome.err, "already requests a GPU core dump") == 1);
    CHECK(times_said(run.outcome.err, "The driver writes it to " + his) == 1);
}

TEST_CASE("If the driver cannot be asked for a dump, a message says what to do and the program continues") {
    const Variables fakes = {{"FAKE_CUDA_FAIL_AT", "3"}, {"FAKE_CUDA_NO_COREDUMP", "1"}};
    const Preloaded run = armed(fakes);
    check_as_bare(run, kProgram, fakes);
    CHECK_FALSE(fs::exists(run.out() / "gpu.core"));
    CHECK(times_said(run.outcome.err, "Completion markers identify the launch") == 1);
    const Preloaded without =
        armed({{"FAKE_CUDA_FAIL_AT", "3"}, {"FAKE_CUDA_NO_COREDUMP", "1"}, {"AOTI_DBG_COMPLETION", "off"}});
    check_as_bare(without, kProgram, fakes);
    CHECK(times_said(without.outcome.err, "Set CUDA_LAUNCH_BLOCKING=1") == 1);
}

TEST_CASE("An existing core dump is not overwritten") {
    const TempFolder folder;
    fs::create_directories(folder.path() / "out");
    write_text(folder.path() / "out" / "gpu.core", "of yesterday");
    const Variables fakes = {{"FAKE_CUDA_FAIL_AT", "3"}};
    const Preloaded run =
        armed({{"FAKE_CUDA_FAIL_AT", "3"}, {"AOTI_DBG_OUT", (folder.path() / "out").string()}});
    check_as_bare(run, kProgram, fakes);
    CHECK(read_text(folder.path() / "out" / "gpu.core") == "of yesterday");
    CHECK(Preloaded::files(folder.path() / "out", "gpu-").size() == 1);
}

TEST_CASE("The library does not set a path that the driver would truncate") {
    const TempFolder folder;
    std::string out = folder.path().string();
    while (out.size() < 1100)
        out += "/" + std::string(100, 'x');
    const Variables fakes = {{"FAKE_CUDA_FAIL_AT", "3"}};
    const Preloaded run = armed({{"FAKE_CUDA_FAIL_AT", "3"}, {"AOTI_DBG_OUT", out}});
    check_as_bare(run, kProgram, fakes);
    CHECK(times_said(run.outcome.err, "is too long for the driver") == 1);
}

}  // namespace
}  // namespace aoti_dbg::test::armed_test

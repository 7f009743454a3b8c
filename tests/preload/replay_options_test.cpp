// What `aoti-dbg replay` does with memory and code of captured launches, on the software driver.
#include <fstream>
#include <memory>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::replay_options_test {
namespace {

namespace fs = std::filesystem;

const std::string kSqrt = "run 0, call 3, triton_poi_fused_sqrt_2: ";

Preloaded captured() {
    return Preloaded(cuda_models({"--runs", "1"}, {"stats"}),
                     {{"AOTI_DBG_CAPTURE", "triton_*,add_*"}, {"AOTI_DBG_LEVEL", ""}});
}

Outcome replay(const fs::path& out, Lines options) {
    options.insert(options.begin(), {places::kTool, "replay", out.string()});
    return run_program(options, {{"LD_LIBRARY_PATH", places::kFakes}});
}

/// A module in which the square root is another kernel.
std::string code_with(const TempFolder& folder, const std::string& kernel,
                      const std::string& parameters = "ppipp") {
    const fs::path path = folder.path() / (kernel + ".cubin");
    std::ofstream(path) << "AOTI_DBG_FAKE_MODULE\nkernel triton_poi_fused_sqrt_2 " << kernel << ' '
                        << parameters << '\n';
    return path.string();
}

TEST_CASE("Guards and poison change nothing for correct kernels") {
    const Preloaded watched = captured();
    for (const Lines& options :
         {Lines{"--guard"}, Lines{"--poison", "ff"}, Lines{"--guard", "--poison", "0x7f"}}) {
        const Outcome replayed = replay(watched.out(), options);
        CAPTURE(options, replayed.err);
        CHECK(replayed.exit_code == 0);
        CHECK(lines_of(replayed.out).size() == 5);
        CHECK(contains(replayed.out, kSqrt + "equal to the record, with "));
    }
}

TEST_CASE("Code that takes more than the launch passes is refused") {
    const Preloaded watched = captured();
    const TempFolder folder;
    for (const auto& [kernel, parameters] :
         {std::pair("neighbor_sum", "ppippp"), std::pair("add", "pppip")}) {
        const std::string code = code_with(folder, kernel, parameters);
        const Outcome refused = replay(watched.out(), {"--calls", "3", "--replace", code});
        CAPTURE(parameters, refused.out, refused.err);
        CHECK(refused.exit_code == 2);
        CHECK(contains(refused.err, "takes other parameters than the launch passes"));
    }
}

TEST_CASE("A guarded launch faults where it reads past the end, and other launches go on") {
    const auto watched =
        captured_within_page([] { return std::unique_ptr<Preloaded>(new Preloaded(captured())); });
    const TempFolder folder;
    const std::string code = code_with(folder, "neighbor_sum");
    const Outcome silent = replay(watched->out(), {"--calls", "3", "--replace", code});
    CHECK(silent.exit_code == 1);
    CHECK(lines_of(silent.out).at(0) == kSqrt + "different");
    const Outcome guarded = replay(watched->out(), {"--calls", "3", "--guard", "--replace", code});
    CAPTURE(guarded.out, guarded.err);
    CHECK(guarded.exit_code == 3);
    CHECK(contains(lines_of(guarded.out).at(0), kSqrt + "the kernel failed: "));
    CHECK(contains(guarded.out, "  at /src/kernel.py:40\n"));
    // The other kernels are not in this module.
    const Outcome others = replay(watched->out(), {"--guard", "--replace", code});
    CAPTURE(others.out, others.err);
    CHECK(others.exit_code == 3);
    CHECK(contains(others.err, "cannot find the kernel in its code"));
    CHECK(contains(others.out, kSqrt + "the kernel failed: "));
}

TEST_CASE("Poison shows a kernel that reads memory before any launch wrote it") {
    const Preloaded watched = captured();
    const TempFolder folder;
    const std::string code = code_with(folder, "accumulate");
    const Outcome replayed = replay(watched.out(), {"--calls", "3", "--poison", "ff", "--replace", code});
    // It differs from the square root, too, so poison says nothing.
    CHECK(lines_of(replayed.out).at(0) == kSqrt + "different");
    TempFolder package;
    fs::copy(fs::path(places::kFakes) / "stats", package.path() / "p", fs::copy_options::recursive);
    const fs::path model = package.path() / "p" / "data" / "aotinductor" / "model";
    std::ofstream(model / "csqrt.cubin") << read_text(code);
    const fs::path out = package.path() / "out";
    run_bare({places::kTool, "run", "--capture", "triton_*", "--out", out.string(), "--",
              victim_path("cuda_models"), "--runs", "1", (model / "cstats.wrapper.so").string()},
             {{"LD_LIBRARY_PATH", places::kFakes}});
    const Outcome found = replay(out, {"--calls", "3", "--poison", "ff"});
    CAPTURE(found.out, found.err);
    CHECK(found.exit_code == 1);
    CHECK(lines_of(found.out).at(0) == kSqrt + "reads uninitialized memory");
    CHECK(lines_of(found.out).at(1) == "  buf4 float32[8,16]: 102 of 128 elements depend on it, first at 1");
    CHECK(replay(out, {"--calls", "3"}).exit_code == 0);
}

TEST_CASE("Results can compare within a tolerance") {
    const Preloaded watched = captured();
    const TempFolder folder;
    const std::string code = code_with(folder, "rough_root");
    const auto first_line = [&](const Lines& tolerance, int exit_code) {
        Lines options = {"--calls", "3", "--replace", code};
        options.insert(options.end(), tolerance.begin(), tolerance.end());
        const Outcome replayed = replay(watched.out(), options);
        CAPTURE(tolerance, replayed.out, replayed.err);
        CHECK(replayed.exit_code == exit_code);
        return lines_of(replayed.out).at(0);
    };
    CHECK(first_line({}, 1) == kSqrt + "different");
    CHECK(first_line({"--rtol", "1e-7"}, 1) == kSqrt + "different");
    CHECK(first_line({"--rtol", "1e-5"}, 0) == kSqrt + "equal to the record within the tolerance");
    CHECK(first_line({"--atol", "0.1", "--guard"}, 0) ==
          kSqrt + "equal to the record within the tolerance, with guarded buffers");
}

TEST_CASE("A timed replay prints the median time") {
    const Preloaded watched = captured();
    const Outcome timed = replay(watched.out(), {"--calls", "3", "--bench"});
    CHECK(timed.exit_code == 0);
    const std::string line = lines_of(timed.out).at(1);
    CAPTURE(line);
    CHECK(contains(line, "  median "));
    CHECK(contains(line, " us; 1 KiB of memory, "));
}

TEST_CASE("Replay refuses options that cannot work") {
    const Preloaded watched = captured();
    const auto refused = [&](const Lines& options, const std::string& reason) {
        const Outcome replayed = replay(watched.out(), options);
        CAPTURE(options, replayed.err);
        CHECK(replayed.exit_code == 2);
        CHECK(contains(replayed.err, reason));
    };
    refused({"--poison", "100"}, "--poison: expected a byte in hexadecimal");
    refused({"--ptxas-opt", "5"}, "--ptxas-opt: expected a level from 0 to 4");
    refused({"--ptxas-opt", "0"}, "--ptxas-opt works only with PTX");
    refused({"--rtol", "-1"}, "--rtol: expected a number such as 1e-5");
    refused({"--stop-before"}, "--stop-before needs a debugger");
    refused({"--replace", "/no/such.cubin"}, ". Name a cubin, fatbin or PTX file.");
    refused({"--calls", "x"}, R"(--calls: expected a number or a Python slice (begin:end:step), got "x".)");
    const std::string script = (watched.out() / "script.py").string();
    for (const Lines& other : {Lines{"--inspect"}, Lines{"--guard"}, Lines{"--times", "2"}}) {
        Lines options = {"--calls", "1", "--python", script};
        options.insert(options.end(), other.begin(), other.end());
        refused(options, "--python launches nothing. Use it only with --runs and --calls.");
    }
    CHECK_FALSE(fs::exists(script));
}

}  // namespace
}  // namespace aoti_dbg::test::replay_options_test

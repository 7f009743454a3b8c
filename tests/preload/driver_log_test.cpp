// What the driver says about a failed call, in the report of the process: drivers that log and that do not,
// programs that listen themselves, forks, threads and SIGKILL.
#include "serializer/driver_log.hpp"

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/preload/triage_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::driver_log_test {
namespace {

Lines failed_call(const std::string& how, const std::string& number = "0") {
    return {victim_path("failed_call"), how, number};
}

const Lines kAll = {"--triage", "--scope", "all"};
constexpr const char* kTooMuch =
    "[cuLaunchKernel] expected at most 49152 bytes of shared memory, got 1048576";

/// Runs bare and with triage, which must behave alike.
struct Compared : Run {
    explicit Compared(const Lines& program, const Variables& env = {})
        : Run(kAll, program, env), bare(run_bare(program, env)) {
        CAPTURE(outcome.err);
        CHECK(outcome.out == bare.out);
        CHECK(outcome.exit_code == bare.exit_code);
    }
    [[nodiscard]] Json lines() const { return report().value("driver_log", Json::array()); }
    [[nodiscard]] std::string text() const { return read_text(out() / "report.txt"); }
    [[nodiscard]] DriverLog log() const {
        const Result<DriverLog> read = read_driver_log((out() / "driver_log.map").string());
        REQUIRE(read.ok());
        CHECK(read.value().notes.empty());
        return read.value();
    }
    Outcome bare;
};

TEST_CASE("A report says what the driver logged about the launch that failed") {
    const Compared shared(failed_call("shared"));
    CHECK(shared.outcome.exit_code == 3);
    REQUIRE(shared.lines().size() == 1);
    const Json line = shared.lines().at(0);
    CHECK(line.at("text") == kTooMuch);
    CHECK(line.at("level") == "error");
    CHECK(line.at("thread") == shared.report().at("failed").at("thread"));
    CHECK(line.at("time_ns") > 1'700'000'000'000'000'000U);
    CHECK_FALSE(line.contains("truncated"));
    CHECK(contains(shared.text(), std::string("\n  driver says    ") + kTooMuch + "\n"));
    const Compared block(failed_call("block"));
    CHECK(
        contains(block.text(),
                 "\n  driver says    [cuLaunchKernel] expected at most 1024 threads in a block, got 4096\n"));
}

TEST_CASE("What the driver logged survives SIGKILL") {
    const Compared killed(failed_call("killed"));
    CHECK(killed.report().at("ended").at("signal") == "SIGKILL");
    CHECK(contains(killed.text(), std::string("\n  driver says    ") + kTooMuch + "\n"));
    REQUIRE(killed.log().lines.size() == 1);
    CHECK(killed.log().lines.at(0).text == kTooMuch);
}

TEST_CASE("A program that listens to the driver itself hears the same, and the report still has its line") {
    const Compared own(failed_call("own"));
    CHECK(contains(own.outcome.out, std::string("heard first, level 0: ") + kTooMuch));
    CHECK(contains(own.outcome.out, "heard 2\n"));
    REQUIRE(own.lines().size() == 1);
    CHECK(own.lines().at(0).at("text") == kTooMuch);
    CHECK(own.log().lines.size() == 3);
}

TEST_CASE("A forked child adds nothing to its parent's log, and its calls fail as they do bare") {
    const Compared forked(failed_call("fork"));
    CHECK(contains(forked.outcome.out, "child: 5\n"));
    // The report is about the child, whose call failed first. The driver logs in the child, too.
    CHECK(contains(forked.verdict(), "driver not initialized (CUDA error 3)"));
    CHECK(forked.lines().empty());
    CHECK(forked.log().header.logged == 1);
    CHECK(forked.log().lines.at(0).text == kTooMuch);
    for (const auto& entry : fs::recursive_directory_iterator(forked.out()))
        CHECK((entry.path().filename() != "driver_log.map" || entry.path().parent_path() == forked.out()));
}

TEST_CASE("The first and the last lines of many are kept, and the report has those of the reported call") {
    const Compared many(failed_call("many", "200"));
    const DriverLog log = many.log();
    CHECK(log.header.logged == 200);
    CHECK(log.header.lost == 0);
    REQUIRE(log.lines.size() == driver_log::kFirst + driver_log::kLast);
    const auto threads_of = [&log](std::size_t i) {
        return log.lines.at(i).text.substr(log.lines.at(i).text.rfind(' ') + 1);
    };
    CHECK(threads_of(0) == "2000");
    CHECK(threads_of(driver_log::kFirst - 1) == "2015");
    CHECK(threads_of(driver_log::kFirst) == "2152");
    CHECK(threads_of(log.lines.size() - 1) == "2199");
    REQUIRE(many.lines().size() == 1);
    CHECK(contains(many.lines().at(0).at("text"), "got 2199"));
}

TEST_CASE("Threads whose calls fail at once lose at most some lines, and the last call has its own") {
    const Compared threads(failed_call("threads", "8"));
    CHECK(threads.log().header.logged == 801);
    for (const DriverLine& line : threads.log().lines)
        CHECK(line.text.rfind("[cuLaunchKernel] expected at most ", 0) == 0);
    REQUIRE(threads.lines().size() == 1);
    CHECK(threads.lines().at(0).at("text") == kTooMuch);
}

TEST_CASE("What the driver logs about the library's own calls is not kept") {
    // The library asks for the parameters of a kernel until the driver refuses.
    const Run model({"--triage", "--level", "2"}, cuda_models({}, {"stats_bare"}));
    CHECK(model.outcome.exit_code == 0);
    CHECK(Preloaded::files(model.out(), "allocations").size() == 1);
    CHECK(Preloaded::files(model.out(), "driver_log").empty());
}

TEST_CASE("Without a failed call there is no file, and without triage there never is") {
    const Run sound(kAll, {victim_path("numbered_launches"), "50", "1", "1"});
    CHECK(sound.outcome.exit_code == 0);
    CHECK(Preloaded::files(sound.out(), "flight").size() == 1);
    CHECK(Preloaded::files(sound.out(), "driver_log").empty());
    const Preloaded plain(failed_call("shared"));
    CHECK(plain.outcome.exit_code == 3);
    CHECK(Preloaded::files(plain.out(), "driver_log").empty());
    const Preloaded unringed(failed_call("shared"), {{"AOTI_DBG_TRIAGE", "1"}, {"AOTI_DBG_RING", "0"}});
    CHECK(unringed.outcome.exit_code == 3);
    CHECK(Preloaded::files(unringed.out(), "driver_log").empty());
}

TEST_CASE("Without a writable folder the program behaves as it does bare") {
    const TempFolder folder;
    write_text(folder.path() / "file", "");
    const Preloaded closed(failed_call("shared"), {{"AOTI_DBG_TRIAGE", "1"},
                                                   {"AOTI_DBG_OUT", (folder.path() / "file/out").string()},
                                                   {"TMPDIR", folder.path().string()}});
    CHECK(closed.outcome.exit_code == 3);
    CHECK(closed.outcome.out == run_bare(failed_call("shared")).out);
}

/// A copy of the victim beside a driver without the function.
struct OldDriver {
    OldDriver() {
        fs::create_directories(folder.path() / "fakes");
        fs::create_directories(folder.path() / "victims");
        fs::copy_file(victim_path("numbered_launches"), program());
        std::string driver = read_text(std::string(places::kFakes) + "/libcuda.so.1");
        const std::string name = "cuLogsRegisterCallback";
        for (std::size_t at = 0; (at = driver.find(name, at)) != std::string::npos;)
            driver[at + name.size() - 1] = '_';
        write_text(folder.path() / "fakes" / "libcuda.so.1", driver);
    }
    [[nodiscard]] fs::path program() const { return folder.path() / "victims" / "numbered_launches"; }
    TempFolder folder;
};

TEST_CASE("With a driver that lacks the function, nothing changes and nothing is said") {
    const OldDriver old;
    const Lines program = {old.program().string(), "20", "1", "1"};
    const Variables refusing = {{"FAKE_CUDA_REFUSE", "kernel_4"}};
    const Compared without(program, refusing);
    const Compared with({victim_path("numbered_launches"), "20", "1", "1"}, refusing);
    CHECK(without.bare.out == with.bare.out);
    CHECK(without.outcome.exit_code == with.outcome.exit_code);
    CHECK_FALSE(contains(without.outcome.err, "log"));
    CHECK(Preloaded::files(without.out(), "driver_log").empty());
    CHECK(with.log().lines.size() == 4);
}

}  // namespace
}  // namespace aoti_dbg::test::driver_log_test

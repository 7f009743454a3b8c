// Runs whose output folder cannot be created or has no room. The record and the report go to a private
// folder, which is removed if there is no report. Without a private folder the terminal still gets what is
// known.
#include <csignal>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/preload/triage_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::no_folder_test {
namespace {

/// The names in a folder.
Lines names_in(const fs::path& folder) {
    Lines names;
    for (const fs::path& path : Preloaded::files(folder, ""))
        names.push_back(path.filename().string());
    return names;
}

/// The report of the one private folder in `parent`.
Json private_report(const fs::path& parent) {
    const std::vector<fs::path> folders = Preloaded::files(parent, "aoti_dbg-");
    REQUIRE(folders.size() == 1);
    CHECK(fs::status(folders[0]).permissions() == fs::perms::owner_all);
    return Json::parse(read_text(folders[0] / "report.json"));
}

TEST_CASE("If the folder cannot be created, a private one has record and report, and a message says so") {
    const TempFolder folder;
    const TempFolder temporary;
    write_text(folder.path() / "file", "in the way");
    Variables env = dying(17, SIGSEGV);
    env["AOTI_DBG_OUT"] = folder.path() / "file" / "out";
    env["AOTI_DBG_VERDICT_FILE"] = folder.path() / "file" / "verdict";
    env["TMPDIR"] = temporary.path();
    const Run run(kTriage, kThreeRuns, env);
    CHECK(run.outcome.signal == SIGSEGV);
    CHECK(contains(run.outcome.err, "aoti-dbg: segmentation fault (SIGSEGV) inside " + place_of(17)));
    CHECK(contains(run.outcome.err, "file/out: not a directory. The output goes to " +
                                        (temporary.path() / "aoti_dbg-").string()));
    CHECK(contains(run.outcome.err, ". Set --out to a writable directory."));
    CHECK(contains(run.outcome.err, "info: the output of this run is in "));
    CHECK(contains(run.outcome.err, ". The verdict is lost. Set AOTI_DBG_VERDICT_FILE to a file in "));
    CHECK(private_report(temporary.path()).at("call").at("kernel") == kOneRun[2]);
}

TEST_CASE("A program that exits normally leaves no private folder, whether library or command created it") {
    const TempFolder folder;
    const TempFolder temporary;
    write_text(folder.path() / "file", "in the way");
    Variables env = {{"AOTI_DBG_OUT", folder.path() / "file" / "out"}, {"TMPDIR", temporary.path()}};
    const Run run(kTriage, kThreeRuns, env);
    CHECK(run.outcome.exit_code == 0);
    CHECK(contains(run.outcome.err, "The output goes to "));
    CHECK(names_in(temporary.path()).empty());
    env["AOTI_DBG_TRIAGE"] = "1";
    const Preloaded sound(kThreeRuns, env);
    CHECK(sound.outcome.exit_code == 0);
    CHECK(contains(sound.outcome.err, "The output goes to "));
    CHECK(names_in(temporary.path()).empty());
}

TEST_CASE("With a bare preload, a process without its folder reports from a private one") {
    const TempFolder folder;
    const TempFolder temporary;
    write_text(folder.path() / "file", "in the way");
    Variables env = dying(17, SIGSEGV);
    env["AOTI_DBG_OUT"] = folder.path() / "file" / "out";
    env["AOTI_DBG_TRIAGE"] = "1";
    env["TMPDIR"] = temporary.path();
    const Preloaded run(kThreeRuns, env);
    CHECK(run.outcome.signal == SIGSEGV);
    CHECK(contains(run.outcome.err, "aoti-dbg: segmentation fault (SIGSEGV) inside " + place_of(17)));
    CHECK(private_report(temporary.path()).at("call").at("kernel") == kOneRun[2]);
}

TEST_CASE("A directory in which others may rename files is not used for a private folder") {
    const TempFolder folder;
    const TempFolder temporary;
    fs::permissions(temporary.path(), fs::perms::all);  // without the sticky bit
    write_text(folder.path() / "file", "in the way");
    const Run run(kTriage, kThreeRuns,
                  {{"AOTI_DBG_OUT", folder.path() / "file" / "out"}, {"TMPDIR", temporary.path()}});
    CHECK(contains(run.outcome.err, "The output goes to "));
    CHECK_FALSE(contains(run.outcome.err, "The output goes to " + temporary.path().string()));
}

/// A program in a mount namespace of its own, after that mount command. Empty where no namespace can be
/// created.
Lines mounted(const std::string& mount, const std::string& script) {
    const auto command = [&](const std::string& what) {
        return Lines{"unshare", "-m", "/bin/sh", "-c", mount + " && " + what};
    };
    return run_program(command("true")).exit_code == 0 ? command(script) : Lines{};
}

/// The same with a memory file system at `at`.
Lines on_disk(const std::string& options, const fs::path& at, const std::string& script) {
    return mounted("mount -t tmpfs -o " + options + " none " + at.string(), script);
}

std::string shell_command(const Lines& flags, const Lines& program) {
    std::string command = std::string(places::kTool) + " run";
    for (const std::string& word : joined(joined(flags, {"--"}), program))
        command += " " + word;
    return command;
}

const std::string kTriagedHost = shell_command(kTriage, kThreeRuns);

TEST_CASE("From an unwritable working directory the report still names the call") {
    const TempFolder disk;
    const TempFolder temporary;
    const Lines program = on_disk("ro", disk.path(), "cd " + disk.path().string() + " && " + kTriagedHost);
    if (program.empty()) {
        WARN("skipped: no file system can be mounted here");
        return;
    }
    Variables env = dying(17, SIGSEGV);
    env["TMPDIR"] = temporary.path();
    const Outcome outcome = run_bare(program, env);
    CHECK(contains(outcome.err, "aoti-dbg: segmentation fault (SIGSEGV) inside " + place_of(17)));
    CHECK(contains(outcome.err, "read-only file system"));
    CHECK(contains(outcome.err, "The output goes to " + temporary.path().string()));
    CHECK_FALSE(contains(outcome.err, "no such file or directory"));
    CHECK(private_report(temporary.path()).at("call").at("kernel") == kOneRun[2]);
}

TEST_CASE("On a full disk the report goes elsewhere, names the call, and leaves no fragment on that disk") {
    const TempFolder disk;
    const TempFolder temporary;
    const std::string at = disk.path().string();
    const Lines program = on_disk("size=4m", disk.path(),
                                  "mkdir " + at + "/out; head -c 8m /dev/zero > " + at +
                                      "/all 2> /dev/null; " + kTriagedHost + "; ls -A " + at + "/out");
    if (program.empty()) {
        WARN("skipped: no file system can be mounted here");
        return;
    }
    Variables env = dying(17, SIGSEGV);
    env["AOTI_DBG_OUT"] = at + "/out";
    env["TMPDIR"] = temporary.path();
    const Outcome outcome = run_bare(program, env);
    CHECK(contains(outcome.err, "aoti-dbg: segmentation fault (SIGSEGV) inside " + place_of(17)));
    CHECK(contains(outcome.err, "no space left on device. The output goes to "));
    CHECK(outcome.out.find("report") == std::string::npos);
    CHECK(private_report(temporary.path()).at("call").at("kernel") == kOneRun[2]);
}

// Makes both places for private folders read-only and leaves the rest of the system as it is.
const std::string kNowhere =
    "mount --bind /tmp /tmp && mount -o remount,ro,bind /tmp && "
    "mount --bind /dev/shm /dev/shm && mount -o remount,ro,bind /dev/shm";

TEST_CASE("Where nothing can be written at all, the terminal gets what is known") {
    const TempFolder folder;
    const std::string script = "cd /proc && " + kTriagedHost;
    const Lines program = mounted(kNowhere, script);
    if (program.empty()) {
        WARN("skipped: no file system can be mounted here");
        return;
    }
    const Outcome outcome = run_bare(program, dying(17, SIGSEGV));
    CHECK(contains(outcome.err, ". Nothing is recorded, and a report has few facts. Set --out to "));
    CHECK(contains(outcome.err,
                   "aoti-dbg: segmentation fault (SIGSEGV); calls were made but could not be recorded"));
    CHECK(contains(outcome.err, "The report is on standard error only."));
}

#ifdef AOTI_DBG_HAS_FAKE_CUDA
const Variables kFaulting = {{"FAKE_CUDA_FAIL_AT", "5"}};
const Lines kTwoRuns = cuda_models({"--runs", "2"}, {"stats"});

TEST_CASE("A GPU fault is reported in full from an unwritable folder") {
    const TempFolder disk;
    const TempFolder temporary;
    const std::string triaged = shell_command(kTriage, kTwoRuns);
    const Lines program = on_disk("ro", disk.path(), "cd " + disk.path().string() + " && " + triaged);
    if (program.empty()) {
        WARN("skipped: no file system can be mounted here");
        return;
    }
    Variables env = kFaulting;
    env["TMPDIR"] = temporary.path();
    const Outcome outcome = run_bare(program, env);
    CHECK(outcome.exit_code == run_bare(kTwoRuns, kFaulting).exit_code);
    CHECK(contains(outcome.err, "aoti-dbg: illegal memory access in triton_poi_fused_add_3 (run 0, call 4)"));
    const Json report = private_report(temporary.path());
    CHECK(report.at("class") == "kernel");
    // The dump has been read and removed.
    CHECK(Preloaded::files(Preloaded::files(temporary.path(), "aoti_dbg-")[0], "gpu").empty());
}

TEST_CASE("A GPU fault is reported in full from a full disk, also in the closing line and the verdict file") {
    const TempFolder disk;
    const TempFolder temporary;
    const std::string at = disk.path().string();
    const std::string triaged = shell_command({"--triage", "--ci"}, kTwoRuns);
    const Lines program =
        on_disk("size=512k", disk.path(), "head -c 1m /dev/zero > " + at + "/all 2> /dev/null; " + triaged);
    if (program.empty()) {
        WARN("skipped: no file system can be mounted here");
        return;
    }
    Variables env = kFaulting;
    env["AOTI_DBG_OUT"] = at + "/out";
    env["TMPDIR"] = temporary.path();
    env["AOTI_DBG_VERDICT_FILE"] = temporary.path() / "verdict";
    const Outcome outcome = run_bare(program, env);
    CHECK(contains(outcome.err, "aoti-dbg: illegal memory access in triton_poi_fused_add_3 (run 0, call 4)"));
    CHECK(contains(outcome.err, "1 process recorded "));
    const Json verdict = Json::parse(read_text(temporary.path() / "verdict"));
    CHECK(contains(verdict.at("verdict").get<std::string>(), "triton_poi_fused_add_3"));
    const std::string path = verdict.at("report").get<std::string>();
    CHECK(path.rfind((temporary.path() / "aoti_dbg-").string(), 0) == 0);
    CHECK(contains(outcome.err, "report: " + path));
}

TEST_CASE("Where nothing can be written, a GPU fault is reported as the error that was seen") {
    const Lines program = mounted(kNowhere, "cd /proc && " + shell_command(kTriage, kTwoRuns));
    if (program.empty()) {
        WARN("skipped: no file system can be mounted here");
        return;
    }
    const Outcome outcome = run_bare(program, kFaulting);
    CHECK(contains(unwrapped(outcome.err),
                   "aoti-dbg: illegal memory access (CUDA error 700), returned by a call that "
                   "could not be recorded; the program then exited with status "));
    CHECK(contains(outcome.err,
                   "returned CUDA error 700 (illegal memory access), and no flight recorder ring"));
}

TEST_CASE("Without room for the driver's core dump, completion markers name the kernel") {
    const TempFolder disk;
    const std::string at = disk.path().string();
    const Lines program = on_disk("size=8m", disk.path(), shell_command(kTriage, kTwoRuns));
    if (program.empty()) {
        WARN("skipped: no file system can be mounted here");
        return;
    }
    Variables env = kFaulting;
    env["AOTI_DBG_OUT"] = at + "/out";
    const Outcome outcome = run_bare(program, env);
    CHECK(contains(outcome.err, "no GPU core dump: not enough space in "));
    CHECK(contains(unwrapped(outcome.err),
                   "aoti-dbg: illegal memory access (CUDA error 700) in triton_poi_fused_add_3 "
                   "(run 0, call 4), according to completion markers"));
}
#endif

}  // namespace
}  // namespace aoti_dbg::test::no_folder_test

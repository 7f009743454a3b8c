// Programs that `timeout`, `env` or a shell start under `aoti-dbg run`, and which of them writes to the
// output folder itself.
#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::launchers_test {

namespace fs = std::filesystem;

namespace {

/// `aoti-dbg run --out out -- program`, in a folder of its own. A sanitizer's runtime library must already be
/// preloaded; the command keeps it in front of ours.
class CommandRun {
  public:
    explicit CommandRun(const Lines& program, const Variables& env = {}) {
        const Lines command = {places::kTool, "run", "--out", "out", "--log", "log", "--"};
        outcome = run_bare(joined(command, program), env, std::chrono::seconds(120), folder_.path());
    }

    /// The folders with a flight ring, relative to the output folder. "." is that folder itself.
    [[nodiscard]] Lines folders() const {
        Lines found;
        std::error_code none;
        for (const auto& entry : fs::recursive_directory_iterator(out(), none))
            if (entry.path().filename() == "flight.ring")
                found.push_back(entry.path().parent_path().lexically_relative(out()).string());
        std::sort(found.begin(), found.end());
        return found;
    }

    [[nodiscard]] fs::path out() const { return folder_.path() / "out"; }

    Outcome outcome;

  private:
    TempFolder folder_;
};

const Lines kHost = model_host({model_path("cpu")});

/// The model host as words of a shell.
std::string host_words() {
    std::string words;
    for (const std::string& word : kHost)
        words += "'" + word + "' ";
    return words;
}

bool is_process_folder(const std::string& name) {
    return name.rfind("model_host-", 0) == 0;
}

}  // namespace

TEST_CASE("A single program behind launchers writes to the output folder itself") {
    const TempFolder scripts;
    const std::string script = scripts.path() / "serve";
    write_text(script, "#!/bin/sh\n" + host_words() + "\nexit $?\n");
    fs::permissions(script, fs::perms::owner_all);
    for (const Lines& program :
         {joined({"timeout", "100"}, kHost), joined({"env", "A=b", "nice", "timeout", "100"}, kHost),
          Lines{"/bin/sh", "-c", host_words() + "; exit $?"},
          Lines{"timeout", "100", "/bin/sh", "-c", host_words() + "; exit $?"}, Lines{script}}) {
        CAPTURE(program);
        const CommandRun run(program);
        CAPTURE(run.outcome.err);
        CHECK(run.outcome.exit_code == 0);
        CHECK(run.folders() == Lines{"."});
    }
}

TEST_CASE("Of two programs behind a shell the first gets the output folder, the second a subfolder") {
    const Lines folders =
        CommandRun({"/bin/sh", "-c", host_words() + "; " + host_words() + "; exit 0"}).folders();
    REQUIRE(folders.size() == 2);
    CHECK(folders[0] == ".");
    CHECK(is_process_folder(folders[1]));
}

TEST_CASE("A started program that records after its child leaves the child's folder alone") {
    const Lines folders = CommandRun({"/bin/sh", "-c", host_words() + "; exec " + host_words()}).folders();
    REQUIRE(folders.size() == 2);
    CHECK(folders[0] == ".");
    CHECK(is_process_folder(folders[1]));
}

TEST_CASE("A child of a program that is no launcher has a folder of its own, also behind launchers") {
    const std::string parent = victim_path("idle_parent");
    for (const Lines& program : {joined({parent}, kHost), joined({"timeout", "100", parent}, kHost),
                                 joined({parent, "/usr/bin/env", "timeout", "100"}, kHost)}) {
        CAPTURE(program);
        const Lines folders = CommandRun(program).folders();
        REQUIRE(folders.size() == 1);
        CHECK(is_process_folder(folders[0]));
    }
}

TEST_CASE("A rank that a shell sets gives a folder of its own, and a rank of the whole job does not") {
    const Lines ranks = CommandRun({"/bin/sh", "-c", "RANK=3 " + host_words() + "; exit $?"}).folders();
    REQUIRE(ranks.size() == 1);
    CHECK(ranks[0].rfind("rank3-model_host-", 0) == 0);
    CHECK(CommandRun(joined({"timeout", "100"}, kHost), {{"RANK", "3"}}).folders() == Lines{"."});
}

TEST_CASE("The report of a crash behind a launcher lies beside the files of the program that crashed") {
    const Lines host = model_host({"--runs", "1", model_path("cpu")});
    const CommandRun run(joined({"timeout", "100"}, host),
                         {{"AOTI_DBG_TRIAGE", "1"}, {"FAKE_TORCH_DIE_AT", "3"}, {"FAKE_TORCH_DIE_BY", "11"}});
    CAPTURE(run.outcome.err);
    // `timeout` exits with 139 or ends itself by the same signal.
    CHECK((run.outcome.exit_code == 139 || run.outcome.signal == SIGSEGV));
    CHECK(run.folders() == Lines{"."});
    CHECK(fs::exists(run.out() / "report.json"));
    CHECK(fs::exists(run.out() / "process.jsonl"));
}

}  // namespace aoti_dbg::test::launchers_test

// Warnings of `aoti-dbg run`: impossible output paths, and a run in which nothing was seen.
#include <algorithm>

#include "tests/unit/cli_installation.hpp"

namespace aoti_dbg::test::cli_run_warnings_test {

namespace fs = std::filesystem;

namespace {

std::size_t lines_in(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("A wrong pattern in --out or --log starts nothing") {
    const Installation installation;
    for (const char* flag : {"--out=out-%z", "--log=names%", "--out=a%q{HOME"}) {
        CAPTURE(flag);
        const Outcome outcome = installation.run({flag, "--", "echo", "started"});
        CHECK(outcome.exit_code == 125);
        CHECK(outcome.out.empty());
        CHECK(contains(outcome.err,
                       "aoti-dbg run: error AD3001: --" + std::string(flag).substr(2, 3) + ": expected "));
    }
}

TEST_CASE("A wrong pattern in a variable gets one warning, and the default applies") {
    const Installation installation;
    const Variables env = {{"AOTI_DBG_OUT", "out-%z"}, {"AOTI_DBG_LOG", "names%"}};
    const Outcome outcome = installation.run({"--", "printenv", "AOTI_DBG_OUT", "AOTI_DBG_LOG"}, env);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.out ==
          (fs::canonical(installation.folder.path()) / "aoti_dbg").string() + "/%t-%p\nstderr\n");
    CHECK(lines_in(outcome.err) == 2);
    CHECK(contains(outcome.err,
                   "warn: AOTI_DBG_OUT: expected a directory (%p, %t, %h, %r, %q{VAR} and %% are "
                   "replaced), got \"out-%z\": unknown pattern"));
    CHECK(
        contains(outcome.err,
                 "warn: AOTI_DBG_LOG: expected stderr, stdout or a file (% patterns as in AOTI_DBG_OUT), got "
                 "\"names%\": it ends in a single %"));
}

TEST_CASE("A run in which every process recorded nothing says so once") {
    const Installation installation;
    const auto said = [&](const Variables& env) {
        return installation.run({"--", "/bin/sh", "-c", "/bin/true; exit 3"}, env).err;
    };
    const std::string idle = said({{"STAND_IN_IDLE", "sh"}});
    CHECK(lines_in(idle) == 1);
    CHECK(contains(idle,
                   "warn: no AOTInductor model was loaded and no kernel launch was intercepted. Likely "
                   "reasons: (1) The program uses only eager mode"));
    for (const char* reason :
         {"(2) The model runs in a process without the library", "(3) The program ended"})
        CHECK(contains(idle, reason));
    CHECK(said({{"STAND_IN_IDLE", "sh"}, {"STAND_IN_LAUNCH", "true"}}).empty());
    CHECK(
        contains(said({{"STAND_IN_IDLE", "sh"}, {"STAND_IN_MODEL", "true"}}),
                 "an AOTInductor model was loaded, but no call of it and no kernel launch was intercepted."));
    CHECK(said({}).empty());
    CHECK(said({{"STAND_IN_IDLE", "sh"}, {"AOTI_DBG_LEVEL", "0"}}).empty());
}

}  // namespace aoti_dbg::test::cli_run_warnings_test

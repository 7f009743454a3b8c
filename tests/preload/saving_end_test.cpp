// The end of a process with tensors still to save, on a terminal and elsewhere: the progress printed, the
// effect of an interrupt, and that the program gets its own settings back.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <future>

#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/on_terminal.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::saving_end_test {
namespace {

namespace fs = std::filesystem;

const std::string kControlC = "\x03";
constexpr int kExitCode = 5;  // of the victim
// More than the slow disk can save while any of these tests waits.
const std::string kManyRuns = "60";

Lines interrupted(const std::string& how, const std::string& end) {
    return {victim_path("interrupted"), how, end, kManyRuns, model_path("cpu")};
}

/// An output folder on a disk that is slow until make_fast().
class SlowPlace {
  public:
    SlowPlace() { write_text(slow(), ""); }

    [[nodiscard]] Variables variables(bool with_library = true) const {
        Variables all = {{"AOTI_DBG_LEVEL", "1"},
                         {"AOTI_DBG_OUT", out().string()},
                         {"AOTI_DBG_LOG", (path() / "log").string()},
                         {"AOTI_DBG_WRITERS", "1"},
                         {"SLOW_DISK", slow().string()},
                         {"TERM", "xterm"}};
        all["LD_PRELOAD"] = with_library ? preload_value() + ":" + places::kSlowDisk : places::kSlowDisk;
        return all;
    }
    void make_fast() const { fs::remove(slow()); }
    /// Makes the disk hang, and waits until a write is stuck in it.
    void hang() const {
        write_text(slow(), "it hangs");
        for (int tries = 0; tries < 6000; ++tries) {
            if ((fs::status(slow()).permissions() & fs::perms::owner_write) == fs::perms::none) return;
            usleep(10000);
        }
    }

    [[nodiscard]] const fs::path& path() const { return folder_.path(); }
    [[nodiscard]] fs::path out() const { return path() / "out"; }
    /// Names of tensors, in order.
    [[nodiscard]] Lines saved() const {
        Lines found;
        std::error_code none;
        for (const auto& entry : fs::recursive_directory_iterator(out() / "tensors", none)) {
            if (entry.path().extension() == ".pt")
                found.push_back(fs::relative(entry.path(), out() / "tensors").string());
        }
        std::sort(found.begin(), found.end());
        return found;
    }
    [[nodiscard]] Lines index() const { return lines_of(read_text(out() / "tensors" / "index.jsonl")); }

  private:
    [[nodiscard]] fs::path slow() const { return path() / "slow"; }

    TempFolder folder_;
};

/// The value of a text member of a line of JSON.
std::string member(const std::string& line, const std::string& name) {
    const std::string begin = "\"" + name + "\":\"";
    const std::size_t at = line.find(begin);
    if (at == std::string::npos) return "";
    return line.substr(at + begin.size(), line.find('"', at + begin.size()) - at - begin.size());
}

/// Checks that the index names exactly the files on disk and that those are whole. Returns how it ended.
std::string how_it_ended(const SlowPlace& place) {
    Lines named;
    for (const std::string& line : place.index()) {
        if (member(line, "event") == "file") named.push_back(member(line, "path"));
    }
    std::sort(named.begin(), named.end());
    CHECK(place.saved() == named);
    for (const std::string& path : named) {
        CAPTURE(path);
        const std::string text = read_text(place.out() / "tensors" / path);
        CHECK(text.rfind("PK\3\4", 0) == 0);
        CHECK(text.find("PK\5\6") != std::string::npos);
    }
    return place.index().empty() ? "" : member(place.index().back(), "how");
}

/// The number of tensors that an undisturbed run saves.
std::size_t all_tensors() {
    static const std::size_t number = [] {
        const SlowPlace place;
        place.make_fast();
        run_program(interrupted("default", "return"), place.variables());
        return place.saved().size();
    }();
    REQUIRE(number > 1000);
    return number;
}

/// The program's own last output, without the library.
std::string bare_out(const std::string& how, const std::string& end) {
    const SlowPlace place;
    place.make_fast();
    return run_program(interrupted(how, end), place.variables(false)).out;
}

/// Whether the screen has nothing but messages and the terminal's own echo of keys.
bool has_messages_alone(const Lines& screen) {
    return std::all_of(screen.begin(), screen.end(), [](std::string line) {
        while (line.rfind("^C", 0) == 0)
            line.erase(0, 2);
        return line.empty() || line.rfind("aoti-dbg[", 0) == 0;
    });
}

TEST_CASE("Progress at exit is plain lines, also where standard error is not a terminal") {
    const bool is_terminal = GENERATE(false, true);
    const SlowPlace place;
    std::future<void> fast = std::async(std::launch::async, [&place] {
        for (int tries = 0; tries < 6000 && place.saved().size() < 120; ++tries)
            usleep(10000);
        place.make_fast();
    });
    const Lines program = interrupted("default", "return");
    const std::string said = is_terminal
                                 ? OnTerminal(program, place.variables(), place.path().string()).end().err
                                 : run_program(program, place.variables()).err;
    fast.wait();
    CHECK(how_it_ended(place) == "complete");
    CHECK(contains(said, "tensors saved ("));
    CHECK(contains(said, "info: saving tensors: "));
    CHECK(contains(said, " written; "));
    CHECK(contains(said, " to go, "));
    CHECK_FALSE(contains(said, "\x1b"));
}

TEST_CASE("Interrupted twice at exit, a program skips the unsaved tensors and ends as it would have") {
    const std::string how = GENERATE("default", "handled", "blocked");
    const std::string end = GENERATE("return", "_exit");
    CAPTURE(how, end);
    const SlowPlace place;
    OnTerminal program(interrupted(how, end), place.variables(), place.path().string());
    REQUIRE(program.shows(" to go"));
    CHECK(program.shows("Press Ctrl-C twice to skip the rest."));
    program.type(kControlC);
    REQUIRE(program.shows("Press Ctrl-C again to skip them."));
    program.type(kControlC);
    const Outcome outcome = program.end();
    CHECK(outcome.exit_code == kExitCode);
    CHECK(outcome.out == bare_out(how, end));
    CHECK(how_it_ended(place) == "abandoned");
    CHECK(place.saved().size() < all_tensors());
    CHECK(contains(outcome.err, " not saved"));
    CHECK(has_messages_alone(program.screen()));
}

TEST_CASE("A hung disk does not delay a program that is interrupted twice") {
    const SlowPlace place;
    OnTerminal program(interrupted("default", "return"), place.variables(), place.path().string());
    REQUIRE(program.shows(" to go"));
    place.hang();
    program.type(kControlC);
    REQUIRE(program.shows("Press Ctrl-C again"));
    program.type(kControlC);
    CHECK(program.end().exit_code == kExitCode);
    CHECK(how_it_ended(place).empty());
}

TEST_CASE("Interrupted once, a program says what is left and saves all of it") {
    const std::string end = GENERATE("return", "_exit");
    const SlowPlace place;
    OnTerminal program(interrupted("handled", end), place.variables(), place.path().string());
    REQUIRE(program.shows(" to go"));
    program.type(kControlC);
    REQUIRE(program.shows(". The library still writes them. Press Ctrl-C again to skip them."));
    place.make_fast();
    const Outcome outcome = program.end();
    CHECK(outcome.exit_code == kExitCode);
    CHECK(outcome.out == bare_out("handled", end));
    CHECK(how_it_ended(place) == "complete");
    CHECK(place.saved().size() == all_tensors());
    CHECK(has_messages_alone(program.screen()));
}

TEST_CASE("A program that ignores interrupts is not interrupted and offers no interrupt") {
    const SlowPlace place;
    OnTerminal program(interrupted("ignored", "return"), place.variables(), place.path().string());
    REQUIRE(program.shows(" to go"));
    for (int i = 0; i < 3; ++i)
        program.type(kControlC);
    place.make_fast();
    const Outcome outcome = program.end();
    CHECK(outcome.exit_code == kExitCode);
    CHECK(outcome.out == bare_out("ignored", "return"));
    CHECK(how_it_ended(place) == "complete");
    CHECK(place.saved().size() == all_tensors());
    CHECK_FALSE(contains(outcome.err, "Ctrl-C"));
    CHECK_FALSE(contains(outcome.err, "interrupt"));
}

TEST_CASE("A program that exits from its own interrupt handler can be interrupted there too") {
    const SlowPlace place;
    OnTerminal program(interrupted("handled", "handler"), place.variables(), place.path().string());
    REQUIRE(program.shows("ready"));
    program.type(kControlC);
    REQUIRE(program.shows(" to go"));
    program.type(kControlC);
    REQUIRE(program.shows("Press Ctrl-C again"));
    program.type(kControlC);
    const Outcome outcome = program.end();
    CHECK(outcome.exit_code == kExitCode);
    CHECK(how_it_ended(place) == "abandoned");
}

TEST_CASE("During its run an interrupt reaches the program, whatever is being saved") {
    const SlowPlace place;
    OnTerminal program(interrupted("default", "key"), place.variables(), place.path().string());
    for (int tries = 0; tries < 6000 && place.saved().empty(); ++tries)
        usleep(10000);
    REQUIRE_FALSE(place.saved().empty());
    program.type(kControlC);
    CHECK(program.end().signal == SIGINT);
}

TEST_CASE("On a terminal, a program that waits for its saved tensors says so during its run") {
    const SlowPlace place;
    Variables variables = place.variables();
    // The model soon has to wait for the disk.
    variables["AOTI_DBG_STAGING"] = "1MiB";
    const Lines program = interrupted("ignored", "key");
    OnTerminal at_terminal(program, variables, place.path().string());
    CHECK(at_terminal.shows("info: saving tensors: "));
    CHECK(at_terminal.shows(" to go, "));
    place.make_fast();
    at_terminal.type("\n");
    const Outcome outcome = at_terminal.end();
    CHECK(outcome.exit_code == kExitCode);
    CHECK(outcome.out == bare_out("ignored", "return"));
    CHECK(how_it_ended(place) == "complete");
    CHECK(has_messages_alone(at_terminal.screen()));
}

}  // namespace
}  // namespace aoti_dbg::test::saving_end_test

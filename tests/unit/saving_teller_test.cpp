// Who speaks for the threads that cannot: what is said is told, and what is shown is gone when it ends.
#include "shim/report/saving_teller.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/unit/at_terminal.hpp"

using namespace aoti_dbg;
using namespace aoti_dbg::test;

namespace {

constexpr int kLong = 6000;  // times ten milliseconds

// The thread may be inside to the end, so none is ever freed.
SavingTeller& teller_of(SavingTeller::Ask ask) {
    static auto& all = *new std::vector<SavingTeller*>;
    all.push_back(new SavingTeller);
    all.back()->start(std::move(ask));
    return *all.back();
}

SavingProgress some() {
    SavingProgress progress;
    progress.files = 1204;
    progress.jobs_left = 312;
    return progress;
}

bool shows(AtTerminal& at, const std::string& text) {
    for (int tries = 0; tries < kLong; ++tries) {
        if (at.shown().find(text) != std::string::npos) return true;
        usleep(10000);
    }
    return false;
}

}  // namespace

TEST_CASE("What its thread tells stands where the line was, and at the end there is none any more") {
    AtTerminal at(100);
    SavingTeller& teller = teller_of(some);
    REQUIRE(shows(at, "1,204 tensors saved"));
    teller.set_ending(" (hint)");
    REQUIRE(shows(at, "aoti-dbg: saving: 312 tensors to go (hint)"));
    teller.say(Severity::warn, "said");
    REQUIRE(shows(at, "warn: said"));
    teller.end();
    CHECK(at.screen().size() == 2);
    CHECK(at.screen()[0].rfind("aoti-dbg[", 0) == 0);
    CHECK(at.screen()[1].empty());
    show_terminal_line("too late");
    CHECK(at.screen()[1].empty());
}

TEST_CASE("Where nothing is saved nothing is shown, and what is said is told") {
    AtTerminal at(100);
    SavingTeller& teller = teller_of([] { return SavingProgress{}; });
    // A save would have been shown by then.
    for (int tries = 0; tries < 300 && at.shown().empty(); ++tries)
        usleep(10000);
    teller.say(Severity::info, "said");
    REQUIRE(shows(at, "info: said"));
    teller.end();
    CHECK(at.shown().rfind("aoti-dbg[", 0) == 0);
}

TEST_CASE("What was said is told by who comes by, before the end at the latest, and each line once") {
    AtTerminal at(100);
    SavingTeller teller;
    teller.say(Severity::warn, "first");
    teller.say(Severity::warn, "second");
    teller.tell();
    CHECK(at.screen().size() == 3);
    teller.say(Severity::warn, "third");
    teller.end();
    teller.tell();
    CHECK(at.screen().size() == 4);
}

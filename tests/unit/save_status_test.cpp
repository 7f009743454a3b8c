// Speaks for threads that cannot print: every message appears, and the progress line is gone at the end.
#include "shim/save/save_status.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/unit/at_terminal.hpp"

using namespace aoti_dbg;
using namespace aoti_dbg::test;

namespace {

constexpr int kLong = 6000;  // times ten milliseconds

// The thread may be inside until exit, so none is ever freed.
SaveStatus& save_status_of(SaveStatus::Ask ask) {
    static auto& all = *new std::vector<SaveStatus*>;
    all.push_back(new SaveStatus);
    all.back()->start(std::move(ask));
    return *all.back();
}

SaveProgress some() {
    SaveProgress progress;
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

TEST_CASE("A message replaces the progress line, and no line remains at the end") {
    AtTerminal at(100);
    SaveStatus& save_status = save_status_of(some);
    REQUIRE(shows(at, "1,204 tensors saved"));
    save_status.set_ending(" (hint)");
    REQUIRE(shows(at, "aoti-dbg: saving: 312 tensors to go (hint)"));
    save_status.say(Severity::warn, "said");
    REQUIRE(shows(at, "warn: said"));
    save_status.end();
    CHECK(at.screen().size() == 2);
    CHECK(at.screen()[0].rfind("aoti-dbg[", 0) == 0);
    CHECK(at.screen()[1].empty());
    show_terminal_line("too late");
    CHECK(at.screen()[1].empty());
}

TEST_CASE("Without a save there is no progress line, and messages still appear") {
    AtTerminal at(100);
    SaveStatus& save_status = save_status_of([] { return SaveProgress{}; });
    // The progress line of a save would have appeared by then.
    for (int tries = 0; tries < 300 && at.shown().empty(); ++tries)
        usleep(10000);
    save_status.say(Severity::info, "said");
    REQUIRE(shows(at, "info: said"));
    save_status.end();
    CHECK(at.shown().rfind("aoti-dbg[", 0) == 0);
}

TEST_CASE("Any caller prints waiting messages, each once and before the end at the latest") {
    AtTerminal at(100);
    SaveStatus save_status;
    save_status.say(Severity::warn, "first");
    save_status.say(Severity::warn, "second");
    save_status.tell();
    CHECK(at.screen().size() == 3);
    save_status.say(Severity::warn, "third");
    save_status.end();
    save_status.tell();
    CHECK(at.screen().size() == 4);
}

TEST_CASE("A line that its thread is still writing is complete after the end") {
    std::array<int, 2> ends{};
    REQUIRE(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0);
    std::array<char, 8192> bytes{};
    while (write(ends[1], bytes.data(), bytes.size()) > 0) {
    }
    const auto there = [&ends] {
        int count = 0;
        ioctl(ends[0], FIONREAD, &count);
        return count;
    };
    const int full = there();
    fcntl(ends[1], F_SETFL, 0);
    const int stderr_before = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    SaveStatus& save_status = save_status_of([] { return SaveProgress{}; });
    save_status.say(Severity::warn, "said");
    usleep(50'000);  // by now it usually blocks on the pipe
    std::thread reader([&] {
        usleep(50'000);
        (void)!read(ends[0], bytes.data(), bytes.size());
    });
    save_status.end();
    CHECK(there() < full);
    dup2(stderr_before, STDERR_FILENO);
    reader.join();
    std::string text;
    for (ssize_t count = 0; (count = read(ends[0], bytes.data(), bytes.size())) > 0;)
        text.append(bytes.data(), static_cast<std::size_t>(count));
    CHECK(text.find("warn: said\n") != std::string::npos);
    for (const int descriptor : {stderr_before, ends[0], ends[1]})
        close(descriptor);
}

// The pipe that asks the driver for its record: when it loses its name, and that no context in creation or
// created later misses it. The test plays the driver.
#include "shim/faults/dump_request.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "base/descriptor.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::dump_request_test {
namespace {

bool g_listens = true;
int g_notified = 0;
bool g_makes_one = false;  // creates a context during the notification
std::optional<ContextInTheMaking> g_making;

bool be_last() {
    ++g_notified;
    if (g_makes_one) g_making.emplace();
    return g_listens;
}

/// A pipe that the driver has created and opened.
struct Made {
    Made() {
        g_listens = true;
        g_notified = 0;
        g_makes_one = false;
        expect_dump_pipe(path, be_last);
        REQUIRE(mkfifo(path.c_str(), 0600) == 0);
        end = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
        REQUIRE(end >= 0);
    }
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;
    ~Made() {
        if (end >= 0) close(end);
        forget_dump_pipe();
    }
    [[nodiscard]] bool has_name() const { return access(path.c_str(), F_OK) == 0; }
    [[nodiscard]] bool was_written_to() const {
        char byte = 0;
        return read(end, &byte, 1) == 1;
    }

    test::TempFolder folder;
    std::string path = (folder.path() / "gpu.pipe").string();
    int end = -1;
};

TEST_CASE("The pipe loses its name once the driver opens none for later contexts, and can still be written") {
    const Made pipe;
    CHECK_FALSE(has_asked_for_dump());
    take_dump_pipe();
    CHECK_FALSE(pipe.has_name());
    CHECK(g_notified == 1);
    CHECK(can_ask_for_dump());
    CHECK(ask_for_dump());
    CHECK(pipe.was_written_to());
    CHECK(has_asked_for_dump());
    CHECK_FALSE(can_ask_for_dump());
}

TEST_CASE("During the creation of a context the name stays, because the driver may look it up") {
    const Made pipe;
    {
        const ContextInTheMaking one;
        {
            const ContextInTheMaking other;
            take_dump_pipe();
            CHECK(pipe.has_name());
        }
        take_dump_pipe();
        CHECK(pipe.has_name());
        // If that creation fails, the next context must still open the pipe.
        CHECK(g_notified == 0);
    }
    take_dump_pipe();
    CHECK_FALSE(pipe.has_name());
    CHECK(g_notified == 1);
}

TEST_CASE("A context whose creation starts during the driver's notification keeps the name too") {
    const Made pipe;
    g_makes_one = true;
    take_dump_pipe();
    CHECK(g_notified == 1);
    CHECK(pipe.has_name());
    g_makes_one = false;
    g_making.reset();
    take_dump_pipe();
    CHECK_FALSE(pipe.has_name());
}

TEST_CASE("During the creation of a context the others can be asked for a dump") {
    const Made pipe;
    const ContextInTheMaking making;
    REQUIRE(can_ask_for_dump());
    CHECK(ask_for_dump());
    CHECK(pipe.was_written_to());
    CHECK(pipe.has_name());
    CHECK(g_notified == 0);
}

TEST_CASE("The name stays as long as the driver does not listen, and disappears with the process") {
    const Made pipe;
    g_listens = false;
    take_dump_pipe();
    CHECK(pipe.has_name());
    CHECK(can_ask_for_dump());
    CHECK(ask_for_dump());
    CHECK(pipe.was_written_to());
    CHECK(pipe.has_name());
    remove_dump_pipe();
    CHECK_FALSE(pipe.has_name());
}

TEST_CASE("A pipe without a reader is not the driver's yet, and another file never is") {
    Made pipe;
    close(pipe.end);
    pipe.end = -1;
    take_dump_pipe();
    CHECK(pipe.has_name());
    CHECK(g_notified == 0);
    REQUIRE(unlink(pipe.path.c_str()) == 0);
    REQUIRE(Descriptor(open(pipe.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)).number() >= 0);
    take_dump_pipe();
    remove_dump_pipe();
    CHECK(pipe.has_name());
}

TEST_CASE("A leftover of an earlier process with this id is removed and not taken for the new pipe") {
    const test::TempFolder folder;
    const std::string path = (folder.path() / "gpu.pipe").string();
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    expect_dump_pipe(path, be_last);
    CHECK(access(path.c_str(), F_OK) != 0);
    CHECK_FALSE(can_ask_for_dump());
    forget_dump_pipe();
    CHECK_FALSE(has_asked_for_dump());
}

}  // namespace
}  // namespace aoti_dbg::dump_request_test

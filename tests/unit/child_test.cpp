// Work in child processes.
#include "cli/replay/child.hpp"

#include <unistd.h>

#include <csignal>
#include <new>

#include "tests/support/catch.hpp"

namespace aoti_dbg::cli::child_test {
namespace {

TEST_CASE("A child returns its exit code, and what it shares") {
    const auto number = shared_with_children<int>();
    REQUIRE(number != nullptr);
    const Result<int> code = run_in_child([&number] {
        *number = 41;
        return 3;
    });
    REQUIRE(code.ok());
    CHECK(code.value() == 3);
    CHECK(*number == 41);
}

TEST_CASE("A child that fails ends, and its parent says so") {
    const pid_t parent = getpid();
    Result<int> code = run_in_child([]() -> int { throw std::bad_alloc(); });
    // The child would come here, too.
    REQUIRE(getpid() == parent);
    REQUIRE_FALSE(code.ok());
    CHECK(code.status().message() == "the replay ended early, such as without enough memory");
    code = run_in_child([]() -> int { return raise(SIGKILL); });
    REQUIRE_FALSE(code.ok());
    CHECK(code.status().message() == "signal 9 ended the replay");
}

}  // namespace
}  // namespace aoti_dbg::cli::child_test

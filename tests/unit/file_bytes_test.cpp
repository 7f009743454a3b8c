// Files and names that others wrote: any bytes, any kind of file.
#include "base/file_bytes.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>

#include "base/bytes_at.hpp"
#include "base/clean_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::file_bytes_test {
namespace {

TEST_CASE("A range lies within a file only if none of it is outside, whatever the numbers") {
    constexpr std::uint64_t kLargest = UINT64_MAX;
    CHECK(lies_within(0, 0, 0));
    CHECK(lies_within(4, 6, 10));
    CHECK(lies_within(10, 0, 10));
    CHECK_FALSE(lies_within(4, 7, 10));
    CHECK_FALSE(lies_within(11, 0, 10));
    CHECK_FALSE(lies_within(kLargest, 1, 10));
    CHECK_FALSE(lies_within(1, kLargest, kLargest));
}

TEST_CASE("Reading ends where the file ends, and an unreadable descriptor is an error") {
    const test::TempFolder folder;
    const std::string path = folder.path() / "short";
    test::write_text(path, "four");
    std::string text(10, '?');
    CHECK(read_fully(open_to_read(path).number(), text));
    CHECK(text == "four");
    CHECK_FALSE(read_fully(-1, text));
    CHECK(errno == EBADF);
}

TEST_CASE("Only regular files up to the limit are read, and a named pipe blocks nothing") {
    const test::TempFolder folder;
    const std::string path = folder.path() / "file";
    CHECK(read_regular_file(path, "a list", 4).status().message() == path + ": No such file or directory");
    test::write_text(path, "four");
    CHECK(read_regular_file(path, "a list", 4).value() == "four");
    CHECK(read_regular_file(path, "a list", 3).status().message() == path + ": too large for a list");
    const std::string pipe = folder.path() / "pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(read_regular_file(pipe, "a list", 4).status().message() ==
          pipe + ": not a list: not a regular file");
}

TEST_CASE("Clean text has no control character and no byte that is not UTF-8") {
    CHECK(clean_text("plain") == "plain");
    CHECK(clean_text("a\x1b[2Jb\n") == "a?[2Jb?");
    CHECK(clean_text("\xC2\x9B"
                     "1m") == "?1m");
    CHECK(clean_text("\xC3\xA4\xFF") == "\xC3\xA4\xEF\xBF\xBD");
}

}  // namespace
}  // namespace aoti_dbg::file_bytes_test

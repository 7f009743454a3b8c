// Reasons and remedies of failed file operations.
#include "base/file_failure.hpp"

#include <cerrno>

#include "tests/support/catch.hpp"

namespace aoti_dbg::file_failure_test {

TEST_CASE("A failure says what failed, on what and why, and keeps the error") {
    const Status failed = file_failure("cannot create", "/x/y", EACCES);
    CHECK_FALSE(failed.ok());
    CHECK(failed.message() == "cannot create /x/y: permission denied");
    CHECK(failed.error_number() == EACCES);
    CHECK(Status::error("something else").error_number() == 0);
}

TEST_CASE("Only a full disk or quota counts as a lack of space") {
    for (const int error : {ENOSPC, EDQUOT}) {
        CHECK(remedy_for(error, "AOTI_DBG_OUT", PlaceKind::directory) ==
              "Free disk space, or set AOTI_DBG_OUT to a directory on a file system with enough space.");
        CHECK(remedy_for(error, "AOTI_DBG_LOG", PlaceKind::file) ==
              "Free disk space, or set AOTI_DBG_LOG to a file on a file system with enough space.");
    }
}

TEST_CASE("An unwritable path asks for a writable one") {
    for (const int error : {EACCES, EPERM, EROFS, ENOTDIR, 0}) {
        CAPTURE(error);
        CHECK(remedy_for(error, "AOTI_DBG_OUT", PlaceKind::directory) ==
              "Set AOTI_DBG_OUT to a writable directory.");
        CHECK(remedy_for(error, "AOTI_DBG_LOG", PlaceKind::file) ==
              "Set AOTI_DBG_LOG to a file in a writable directory.");
    }
    CHECK(remedy_for(ENOENT, "--out", PlaceKind::directory) ==
          "Set --out to an existing, writable directory.");
}

TEST_CASE("A limit of the process asks to raise that limit") {
    CHECK(remedy_for(EFBIG, "AOTI_DBG_OUT", PlaceKind::directory) ==
          "Raise the file size limit of the process (ulimit -f).");
    CHECK(remedy_for(EMFILE, "AOTI_DBG_OUT", PlaceKind::directory) ==
          "Raise the open file limit of the process (ulimit -n).");
}

TEST_CASE("An error's text starts in lower case, and asking for it keeps errno") {
    errno = EINTR;
    CHECK(errno_text(ENOSPC) == "no space left on device");
    CHECK(errno_text(EFBIG) == "file too large");
    CHECK(errno_text(EDOTDOT) == "RFS specific error");
    CHECK(errno == EINTR);
}

}  // namespace aoti_dbg::file_failure_test

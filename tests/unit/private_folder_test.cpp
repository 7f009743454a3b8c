// Whether a folder has room, and private folders: they leave nothing behind and follow no link.
#include "base/private_folder.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/catch.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::test::private_folder_test {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMost = std::size_t{1} << 50U;

/// Sets TMPDIR and restores it, because the tests' own folders use it too.
class TemporaryPlace {
  public:
    explicit TemporaryPlace(const std::string& place) { setenv("TMPDIR", place.c_str(), 1); }
    ~TemporaryPlace() { unsetenv("TMPDIR"); }
    TemporaryPlace(const TemporaryPlace&) = delete;
    TemporaryPlace& operator=(const TemporaryPlace&) = delete;
};

}  // namespace

TEST_CASE("A folder has room if a file can be created there, and no file remains") {
    const TempFolder folder;
    CHECK(has_room(folder.path(), 4096).ok());
    CHECK(has_room(folder.path() / "", 0).ok());
    CHECK(fs::is_empty(folder.path()));
    const Status small = has_room(folder.path(), kMost);
    REQUIRE_FALSE(small.ok());
    CHECK(small.message().rfind("cannot write to directory " + folder.path().string() + ": ", 0) == 0);
    CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("A folder that does not exist yet has the room of its parent") {
    const TempFolder folder;
    CHECK(has_room(folder.path() / "a" / "b", 4096).ok());
    CHECK(fs::is_empty(folder.path()));
    write_text(folder.path() / "file", "in the way");
    const Status blocked = has_room(folder.path() / "file" / "b", 0);
    REQUIRE_FALSE(blocked.ok());
    CHECK(blocked.message() ==
          "cannot create directory " + (folder.path() / "file" / "b").string() + ": not a directory");
}

TEST_CASE("A private folder is created below TMPDIR, for its owner alone, under a new name each time") {
    const TempFolder folder;
    const TemporaryPlace set(folder.path());
    const Result<std::string> first = make_private_folder(8192, 4096);
    const Result<std::string> second = make_private_folder(8192, 4096);
    REQUIRE(first.ok());
    REQUIRE(second.ok());
    CHECK(first.value() != second.value());
    CHECK(fs::path(first.value()).parent_path() == folder.path());
    CHECK(fs::status(first.value()).permissions() == fs::perms::owner_all);
    // Even a place with little room is used.
    CHECK(make_private_folder(kMost, 4096).ok());
    CHECK_FALSE(make_private_folder(kMost, kMost).ok());
}

TEST_CASE("A place where others may rename files, or a relative one, gets no private folder") {
    const TempFolder folder;
    fs::permissions(folder.path(), fs::perms::all);
    for (const std::string& place : {folder.path().string(), std::string("here")}) {
        const TemporaryPlace set(place);
        const Result<std::string> made = make_private_folder(4096, 4096);
        if (!made.ok()) continue;
        CHECK(fs::path(made.value()).parent_path() != folder.path());
        remove_private_folder(made.value().c_str());
    }
    CHECK(fs::is_empty(folder.path()));
    // With the sticky bit it is accepted.
    fs::permissions(folder.path(), fs::perms::sticky_bit, fs::perm_options::add);
    const TemporaryPlace set(folder.path());
    REQUIRE(make_private_folder(4096, 4096).ok());
    CHECK_FALSE(fs::is_empty(folder.path()));
}

TEST_CASE("A folder is removed with its contents, and the targets of links stay") {
    const TempFolder folder;
    const fs::path gone = folder.path() / "gone";
    const fs::path kept = folder.path() / "kept";
    fs::create_directories(gone / "evidence" / "model");
    fs::create_directories(kept);
    write_text(kept / "file", "a");
    for (int i = 0; i < 300; ++i)
        write_text(gone / "evidence" / ("a file with quite a long name, number " + std::to_string(i)), "a");
    write_text(gone / "evidence" / "model" / "source", "a");
    fs::create_directory_symlink(kept, gone / "link");
    fs::create_symlink(kept / "file", gone / "evidence" / "link");
    remove_private_folder(gone.c_str());
    CHECK_FALSE(fs::exists(gone));
    CHECK(read_text(kept / "file") == "a");
    fs::create_directory_symlink(kept, folder.path() / "link");
    remove_private_folder((folder.path() / "link").c_str());
    CHECK(read_text(kept / "file") == "a");
}

}  // namespace aoti_dbg::test::private_folder_test

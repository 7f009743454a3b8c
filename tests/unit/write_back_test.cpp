// Requests to the file system to write bytes back. They must reach the file itself, even if it is closed and
// its number reused, and never come from the writing thread.
#include "shim/save/write_back.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/run_program.hpp"
#include "tests/unit/saver_fixture.hpp"

using namespace aoti_dbg;
using namespace aoti_dbg::test;

namespace {

struct Asked {
    ino_t inode;
    std::int64_t begin;
    std::int64_t bytes;
    std::thread::id thread;
};

std::mutex g_mutex;
std::condition_variable g_changed;
std::vector<Asked> g_asked;
bool g_holds = false;  // the disk lags behind

/// The requests so far, once there are at least `count`.
std::vector<Asked> asked(std::size_t count) {
    std::unique_lock lock(g_mutex);
    g_changed.wait_for(lock, std::chrono::seconds(60), [count] { return g_asked.size() >= count; });
    return g_asked;
}

void hold(bool holds) {
    const std::lock_guard lock(g_mutex);
    if (holds) g_asked.clear();
    g_holds = holds;
    g_changed.notify_all();
}

/// Waits for another thread, with a limit so that a failure does not hang.
bool soon(bool (*condition)()) {
    for (int i = 0; i < 6000 && !condition(); ++i)
        usleep(10000);
    return condition();
}

WriteBack& started() {
    static auto& all = *new std::vector<WriteBack*>;  // threads may be inside until exit
    all.push_back(new WriteBack);
    all.back()->start();
    return *all.back();
}

int file_in(const TempFolder& folder, const char* name) {
    const int file = open((folder.path() / name).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    REQUIRE(file >= 0);
    return file;
}

ino_t inode_of(int file) {
    struct stat found {};
    REQUIRE(fstat(file, &found) == 0);
    return found.st_ino;
}

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;

}  // namespace

// Replaces the system's function.
extern "C" int sync_file_range(int file, off64_t begin, off64_t bytes, unsigned flags) {
    struct stat found {};
    if (fstat(file, &found) != 0 || flags != SYNC_FILE_RANGE_WRITE) return -1;
    std::unique_lock lock(g_mutex);
    g_asked.push_back({found.st_ino, begin, bytes, std::this_thread::get_id()});
    g_changed.notify_all();
    g_changed.wait(lock, [] { return !g_holds; });
    return 0;
}

TEST_CASE("Written bytes are submitted at once, by another thread, even if their file is closed") {
    const TempFolder folder;
    const int before = open_descriptors();
    hold(true);
    hold(false);
    WriteBack& write_back = started();
    const int file = file_in(folder, "a");
    const ino_t inode = inode_of(file);
    write_back.begin(file, 640, kPiece);
    ::close(file);
    const std::vector<Asked> ranges = asked(1);
    REQUIRE(ranges.size() == 1);
    CHECK(ranges[0].inode == inode);
    CHECK(ranges[0].begin == 640);
    CHECK(ranges[0].bytes == static_cast<std::int64_t>(kPiece));
    CHECK(ranges[0].thread != std::this_thread::get_id());
    static int at_first = 0;
    at_first = before;
    CHECK(soon([] { return open_descriptors() == at_first; }));
    write_back.end();
}

TEST_CASE("If the disk lags, pieces of a file are merged, others are kept, and too many are skipped") {
    const TempFolder folder;
    static int before = 0;
    before = open_descriptors();
    hold(true);
    WriteBack& write_back = started();
    const int first = file_in(folder, "first");
    const int second = file_in(folder, "second");
    write_back.begin(first, 0, kPiece);
    REQUIRE(asked(1).size() == 1);
    for (std::uint64_t i = 1; i < 5; ++i) {
        write_back.begin(first, i * kPiece, kPiece);
        write_back.begin(second, i * 3 * kPiece, kPiece);
    }
    CHECK(open_descriptors() == before + 2 + 1 + 1 + 4);
    for (std::uint64_t i = 0; i < 1000; ++i)
        write_back.begin(second, i * 2 * kPiece + 7, kPiece);
    CHECK(open_descriptors() < before + 100);
    hold(false);
    const std::vector<Asked> ranges = asked(6);
    REQUIRE(ranges.size() >= 6);
    CHECK(ranges[1].begin == static_cast<std::int64_t>(kPiece));
    CHECK(ranges[1].bytes == static_cast<std::int64_t>(4 * kPiece));
    CHECK(ranges[2].inode == inode_of(second));
    for (const Asked& range : ranges)
        CHECK(range.bytes <=
              static_cast<std::int64_t>(4 * kPiece));  // the process could not end during a larger one
    ::close(first);
    ::close(second);
    write_back.end();
    CHECK(soon([] { return open_descriptors() == before; }));
}

TEST_CASE("Forgotten files are closed before their turn, and no others are") {
    const TempFolder folder;
    static int before = 0;
    before = open_descriptors();
    hold(true);
    WriteBack& write_back = started();
    const int first = file_in(folder, "first");
    const int second = file_in(folder, "second");
    const int third = file_in(folder, "third");
    const ino_t inode = inode_of(third);
    write_back.begin(first, 0, 40 * kPiece);
    REQUIRE(asked(1).size() == 1);
    write_back.begin(second, 0, kPiece);
    write_back.begin(third, 0, kPiece);
    write_back.begin(second, 7 * kPiece, kPiece);
    CHECK(open_descriptors() == before + 3 + 1 + 3);
    write_back.forget(second);
    CHECK(open_descriptors() == before + 3 + 1 + 1);
    for (const int file : {first, second, third})
        ::close(file);
    hold(false);
    const std::vector<Asked> ranges = asked(11);
    REQUIRE(ranges.size() == 11);
    CHECK(ranges[10].inode == inode);
    CHECK(soon([] { return open_descriptors() == before; }));
    write_back.end();
}

TEST_CASE("Small files are left to the file system, and so is everything after the end") {
    const TempFolder folder;
    const int before = open_descriptors();
    const int file = file_in(folder, "a");
    WriteBack never_started;
    never_started.begin(file, 0, kPiece);
    WriteBack& write_back = started();
    write_back.begin(file, 0, 4096);
    write_back.end();
    write_back.begin(file, 0, kPiece);
    CHECK(open_descriptors() == before + 1);
    ::close(file);
}

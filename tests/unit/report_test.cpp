// The log and the ring on disk: the effect of a full disk, an existing file, a killed process and another
// program's changes.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

#include "serializer/flight_ring_reader.hpp"
#include "shim/record/flight_ring.hpp"
#include "shim/record/line_log.hpp"
#include "shim/record/out_folder.hpp"
#include "shim/record/preallocated_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/run_program.hpp"
#include "tests/unit/shim_fixture.hpp"

namespace aoti_dbg::test::report_test {
namespace {

std::unique_ptr<LineLog> open_log(const std::string& path) {
    Result<std::unique_ptr<LineLog>> log = LineLog::open(path);
    REQUIRE(log.ok());
    return std::move(log.value());
}

std::string numbered_line(int number) {
    return "line " + std::to_string(number) + "\n";
}

}  // namespace

TEST_CASE("A file-size limit is an error and not SIGXFSZ") {
    const TempFolder folder;
    const std::string path = folder.path() / "small";
    const int status = in_child([&path] {
        const rlimit limit{64 * 1024, 64 * 1024};
        setrlimit(RLIMIT_FSIZE, &limit);
        Result<PreallocatedFile> file = PreallocatedFile::create(path);
        if (!file.ok() || !file.value().extend(64 * 1024, '\n').ok()) ::_exit(1);
        if (file.value().extend(4096).ok()) ::_exit(2);
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(std::filesystem::file_size(path) == 64 * 1024);
}

TEST_CASE("A log whose file was replaced by another ends instead of writing into that one") {
    const TempFolder folder;
    const std::string path = folder.path() / "log";
    const std::unique_ptr<LineLog> log = open_log(path);
    log->write("first\n", 6);
    std::filesystem::remove(path);
    write_text(path, "somebody else's");
    const std::string line = std::string(3999, 'x') + "\n";
    for (int i = 0; i < 40; ++i)
        log->write(line.data(), line.size());
    log->close();
    CHECK(read_text(path) == "somebody else's");
    CHECK(log->lost() == 24);  // 16 of the 40 fitted into the first step
}

TEST_CASE("A log never overwrites an existing file") {
    const TempFolder folder;
    const std::string path = folder.path() / "log";
    write_text(path, "old\n");
    const std::unique_ptr<LineLog> log = open_log(path);
    CHECK(std::string(log->path()) == path + ".2");
    log->write("new\n", 4);
    log->close();
    CHECK(read_text(path) == "old\n");
    CHECK(read_text(path + ".2") == "new\n");
}

TEST_CASE("A closed log has exactly the lines that were written, over many steps") {
    const TempFolder folder;
    const std::string path = folder.path() / "log";
    const std::unique_ptr<LineLog> log = open_log(path);
    std::string expected;
    for (int i = 0; i < 30000; ++i) {
        const std::string line = numbered_line(i);
        log->write(line.data(), line.size());
        expected += line;
    }
    log->close();
    log->write("late\n", 5);
    CHECK(read_text(path) == expected);
    struct stat info {};
    REQUIRE(stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE("Lines of several threads stay whole") {
    const TempFolder folder;
    const std::string path = folder.path() / "log";
    const std::unique_ptr<LineLog> log = open_log(path);
    std::vector<std::thread> threads;
    for (char name = 'a'; name < 'e'; ++name) {
        threads.emplace_back([&log, name] {
            const std::string line = std::string(70, name) + "\n";
            for (int i = 0; i < 2000; ++i)
                log->write(line.data(), line.size());
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    log->close();
    const std::string text = read_text(path);
    REQUIRE(text.size() == 4 * 2000 * 71);
    bool whole = true;
    for (std::size_t at = 0; at < text.size(); at += 71) {
        whole = whole && text.substr(at, 71) == std::string(70, text[at]) + "\n";
    }
    CHECK(whole);
}

TEST_CASE("Written lines are in the file when the process is killed, and the rest is blank") {
    const TempFolder folder;
    const std::string path = folder.path() / "log";
    const int status = in_child([&path] {
        Result<std::unique_ptr<LineLog>> log = LineLog::open(path);
        for (int i = 0; log.ok() && i < 9000; ++i) {
            const std::string line = numbered_line(i);
            log.value()->write(line.data(), line.size());
        }
        raise(SIGKILL);
    });
    CHECK(WIFSIGNALED(status));
    const std::string text = read_text(path);
    const std::size_t last = text.find("line 8999\n");
    REQUIRE(last != std::string::npos);
    CHECK(text.find_first_not_of('\n', last + 10) == std::string::npos);
    CHECK(text.find('\0') == std::string::npos);
}

TEST_CASE("A ring keeps the last records of a thread, even if its process was killed") {
    const TempFolder folder;
    const std::string path = folder.path() / "flight.ring";
    core();
    const Name* name = intern_name("ring_test_kernel", {});
    const int status = in_child([&path, name] {
        Result<std::unique_ptr<FlightRing>> flight = FlightRing::create(path, 16);
        if (!flight.ok()) ::_exit(1);
        ThreadRing thread = flight.value()->add_thread();
        flight.value()->publish_names(name->id);
        for (std::uint64_t seq = 1; seq <= 100; ++seq) {
            ring::Record record{};
            record.seq = seq;
            record.name = name->id;
            record.begin_ticks = seq;
            ring::Record* where = thread.begin(record);
            if (seq != 100) ThreadRing::end(where, seq, 0, ring::kEnded, seq + 1);
        }
        raise(SIGKILL);
    });
    CHECK(WIFSIGNALED(status));
    const Result<ring::Contents> recorded = ring::read_flight_ring(path);
    REQUIRE(recorded.ok());
    CHECK(recorded.value().header.ended == 0);
    const std::vector<ring::Call> calls = ring::merged_calls(recorded.value());
    REQUIRE(calls.size() == 16);
    CHECK(calls.front().record->seq == 85);
    CHECK(calls.back().record->seq == 100);
    CHECK(calls.back().record->end_ticks == 0);
    CHECK(recorded.value().name(calls.back().record->name) == "ring_test_kernel");
}

TEST_CASE("Rings of ended threads are reused, so a ring file does not grow with every thread") {
    const TempFolder folder;
    const std::string path = folder.path() / "flight.ring";
    Result<std::unique_ptr<FlightRing>> flight = FlightRing::create(path, 64);
    REQUIRE(flight.ok());
    for (int i = 0; i < 12; ++i)
        flight.value()->retire_thread(flight.value()->add_thread());
    const auto after_a_few = std::filesystem::file_size(path);
    for (int i = 0; i < 500; ++i)
        flight.value()->retire_thread(flight.value()->add_thread());
    CHECK(std::filesystem::file_size(path) == after_a_few);
}

TEST_CASE("A read-only path is an error that names it") {
    const Result<std::unique_ptr<FlightRing>> flight = FlightRing::create("/proc/no/such/flight.ring", 64);
    REQUIRE_FALSE(flight.ok());
    CHECK(flight.status().message().find("/proc/no/such/flight.ring") != std::string::npos);
    Options options;
    options.out = "/proc/version/x";
    CHECK_FALSE(make_out_folder(options, Origin::here_and_now(), "").ok());
}

TEST_CASE("The output folder is closed to others, and latest points at it") {
    const TempFolder folder;
    Options options;
    options.out = folder.path() / "aoti_dbg/%t-%p";
    const Origin start{4242, 1000000000};
    const Result<std::string> made = make_out_folder(options, start, "");
    REQUIRE(made.ok());
    CHECK(made.value().find("-4242") != std::string::npos);
    struct stat info {};
    REQUIRE(stat(made.value().c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0700);
    CHECK(std::filesystem::equivalent(folder.path() / "aoti_dbg/latest", made.value()));

    for (const char* other : {"mine-aoti_dbg/%t-%p", "aoti_dbg/%p", "x/%t-%p"}) {
        Options elsewhere;
        elsewhere.out = folder.path() / "elsewhere" / other;
        REQUIRE(make_out_folder(elsewhere, start, "").ok());
    }
    CHECK_FALSE(std::filesystem::exists(folder.path() / "elsewhere/mine-aoti_dbg/latest"));
    CHECK_FALSE(std::filesystem::exists(folder.path() / "elsewhere/aoti_dbg/latest"));
    Options with_slash;
    with_slash.out = (folder.path() / "slash/aoti_dbg/%t-%p").string() + "//";
    REQUIRE(make_out_folder(with_slash, start, "").ok());
    CHECK(std::filesystem::exists(folder.path() / "slash/aoti_dbg/latest"));

    const Result<std::string> of_child = make_out_folder(options, start, "worker-7");
    REQUIRE(of_child.ok());
    CHECK(of_child.value() == made.value() + "/worker-7");
    CHECK(std::filesystem::equivalent(folder.path() / "aoti_dbg/latest", made.value()));
}

}  // namespace aoti_dbg::test::report_test

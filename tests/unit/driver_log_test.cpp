// The driver's log: damaged and hostile bytes first, then what the writer leaves behind and what a report
// takes from it.
#include "serializer/driver_log.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include "shim/record/driver_log_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_program.hpp"
#include "tests/unit/crash_report_fixture.hpp"
#include "triage/gather/driver_lines.hpp"

namespace aoti_dbg::test::driver_log_test {

using driver_log::FileHeader;
using driver_log::Level;
using driver_log::Line;

namespace {

FileHeader header_of(std::uint32_t lines) {
    FileHeader header{};
    header.magic = driver_log::kMagic;
    header.version = driver_log::kVersion;
    header.line_bytes = sizeof(Line);
    header.pid = 4242;
    header.first = lines;
    return header;
}

Line line_of(std::uint64_t number, std::string_view text, std::uint64_t ticks = 500,
             std::uint32_t thread = 7) {
    Line line{};
    line.number = number;
    line.ticks = ticks;
    line.unix_ns = 1'700'000'000'000'000'000U + number;
    line.thread = thread;
    line.bytes = static_cast<std::uint32_t>(text.size());
    std::memcpy(line.text, text.data(), std::min(text.size(), sizeof line.text));
    return line;
}

std::string bytes_of(const FileHeader& header, const std::vector<Line>& lines) {
    std::string bytes(driver_log::kPage, '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    for (const Line& line : lines)
        bytes.append(reinterpret_cast<const char*>(&line), sizeof line);
    return bytes;
}

DriverLog log_of(const std::vector<Line>& lines) {
    const Result<DriverLog> log =
        parse_driver_log(bytes_of(header_of(static_cast<std::uint32_t>(lines.size())), lines));
    REQUIRE(log.ok());
    CHECK(log.value().notes.empty());
    return log.value();
}

std::string text_of(std::string_view text) {
    const DriverLog log = log_of({line_of(1, text)});
    return log.lines.empty() ? "" : log.lines.front().text;
}

}  // namespace

TEST_CASE("A driver's log cut off at any byte is read as far as it goes") {
    const std::string whole =
        bytes_of(header_of(3), {line_of(1, "one"), line_of(2, "two"), line_of(3, "three")});
    for (std::size_t length = 0; length <= whole.size(); length += 8) {
        const Result<DriverLog> log = parse_driver_log(std::string_view(whole).substr(0, length));
        REQUIRE(log.ok() == (length >= sizeof(FileHeader)));
        if (!log.ok()) continue;
        const std::size_t there =
            length < driver_log::kPage ? 0 : (length - driver_log::kPage) / sizeof(Line);
        CHECK(log.value().lines.size() == there);
        CHECK(log.value().notes.empty() == (there == 3));
    }
}

TEST_CASE("Other files, newer logs and logs with other entries are each refused with their own reason") {
    const auto reason_of = [](auto change) {
        FileHeader header = header_of(0);
        change(header);
        return parse_driver_log(bytes_of(header, {})).status().message();
    };
    CHECK(reason_of([](FileHeader& header) {
              header.magic = 7;
          }).find("not a map of the driver's log lines") == 0);
    CHECK(reason_of([](FileHeader& header) { header.version = 0; }).find("not a map") == 0);
    CHECK(reason_of([](FileHeader& header) { ++header.version; }).find("or older, got version") !=
          std::string::npos);
    CHECK(reason_of([](FileHeader& header) { header.line_bytes = 8; }).find("unexpected size") !=
          std::string::npos);
    CHECK_FALSE(read_driver_log("/nonexistent/driver_log.map").ok());
}

TEST_CASE("Any bytes are read without harm, and every line is clean") {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        std::string bytes = bytes_of(header_of(4), std::vector<Line>(4));
        std::generate(bytes.begin() + driver_log::kPage, bytes.end(),
                      [&] { return static_cast<char>(random()); });
        if (round % 2 == 0)
            std::generate(bytes.begin() + 16, bytes.begin() + sizeof(FileHeader),
                          [&] { return static_cast<char>(random()); });
        const Result<DriverLog> log = parse_driver_log(bytes);
        REQUIRE(log.ok());
        for (const DriverLine& line : log.value().lines)
            CHECK(std::none_of(line.text.begin(), line.text.end(),
                               [](unsigned char one) { return one < 0x20 || one == 0x7f; }));
    }
}

TEST_CASE("A line is clean and on one line, and says if the driver's text is longer") {
    CHECK(text_of("[cuLaunchKernel] too much\n") == "[cuLaunchKernel] too much");
    CHECK(text_of(std::string_view("with a NUL\0", 11)) == "with a NUL");
    CHECK(text_of("two\nlines\tand a tab\r\n") == "two lines and a tab");
    CHECK(text_of("\x1b[31mred\x07") == "?[31mred?");
    CHECK(text_of("\xff!") == "\xEF\xBF\xBD!");
    CHECK(text_of(" \n").empty());
    CHECK(text_of("").empty());
    const std::string exact(driver_log::kTextBytes, 'x');
    CHECK_FALSE(log_of({line_of(1, exact)}).lines.front().is_cut);
    const DriverLine cut = log_of({line_of(1, exact + "y")}).lines.front();
    CHECK(cut.is_cut);
    CHECK(cut.text == exact);
}

TEST_CASE("Lines are in the order of their numbers, and one that is being written is left out") {
    Line half = line_of(3, "half");
    half.number = 0;
    const DriverLog log = log_of({line_of(9, "nine"), half, line_of(2, "two")});
    REQUIRE(log.lines.size() == 2);
    CHECK(log.lines[0].text == "two");
    CHECK(log.lines[1].text == "nine");
}

TEST_CASE("The file has the first and the last lines with time, thread and level, and goes if it is empty") {
    const TempFolder folder;
    const std::string path = folder.path() / "driver_log.map";
    Result<std::unique_ptr<DriverLogFile>> made = DriverLogFile::create(path);
    REQUIRE(made.ok());
    DriverLogFile& file = *made.value();
    const std::string longer(2 * driver_log::kTextBytes, 'l');
    file.add(Level::warning, longer.data(), longer.size());
    for (int i = 2; i <= 100; ++i) {
        const std::string text = "line " + std::to_string(i) + "\n";
        file.add(Level::error, text.data(), text.size());
    }
    file.remove_if_empty();
    const Result<DriverLog> read = read_driver_log(path);
    REQUIRE(read.ok());
    const std::vector<DriverLine>& lines = read.value().lines;
    REQUIRE(lines.size() == driver_log::kFirst + driver_log::kLast);
    CHECK(lines[0].is_warning);
    CHECK(lines[0].is_cut);
    CHECK_FALSE(lines[1].is_warning);
    CHECK(lines[15].text == "line 16");
    CHECK(lines[16].text == "line 53");
    CHECK(lines.back().text == "line 100");
    CHECK(lines.back().thread != 0);
    CHECK(lines.back().ticks >= lines[0].ticks);
    CHECK(lines.back().unix_ns > 1'700'000'000'000'000'000U);

    const std::string unused = folder.path() / "driver_log-7.map";
    const Result<std::unique_ptr<DriverLogFile>> empty = DriverLogFile::create(unused);
    REQUIRE(empty.ok());
    CHECK(read_driver_log(unused).ok());
    empty.value()->remove_if_empty();
    CHECK_FALSE(std::filesystem::exists(unused));
}

TEST_CASE("Threads that log at once leave whole lines, each lost one counted") {
    const TempFolder folder;
    const std::string path = folder.path() / "driver_log.map";
    Result<std::unique_ptr<DriverLogFile>> made = DriverLogFile::create(path);
    REQUIRE(made.ok());
    constexpr int kThreads = 4;
    constexpr int kEach = 5000;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            const std::string text(300, static_cast<char>('a' + i));
            for (int n = 0; n < kEach; ++n)
                made.value()->add(Level::error, text.data(), text.size());
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    const Result<DriverLog> read = read_driver_log(path);
    REQUIRE(read.ok());
    CHECK(read.value().header.logged == kThreads * kEach);
    CHECK(read.value().lines.size() <= driver_log::kFirst + driver_log::kLast);
    for (const DriverLine& line : read.value().lines)
        CHECK(line.text == std::string(300, line.text.front()));
}

// ---- in a report

namespace {

/// A process with these lines, and two calls: of thread 7 from 100 to 1000, and of thread 8 from 400, open.
struct Recorded {
    explicit Recorded(const std::vector<Line>& lines, std::uint32_t pid = 4242) {
        process.ring = folder.path() / "flight.ring";
        process.pid = pid;
        write_text(folder.path() / "driver_log.map",
                   bytes_of(header_of(static_cast<std::uint32_t>(lines.size())), lines));
        ended_thread.tid = 7;
        ended.begin_ticks = 100;
        ended.end_ticks = 1000;
        open_thread.tid = 8;
        open.begin_ticks = 400;
    }
    [[nodiscard]] Evidence evidence(bool with_open = true) const {
        Evidence evidence;
        std::vector<ring::Call> calls = {{&ended_thread, &ended}};
        if (with_open) calls.push_back({&open_thread, &open});
        add_driver_lines(process, calls, evidence);
        return evidence;
    }
    TempFolder folder;
    RecordedProcess process;
    ring::Thread ended_thread;
    ring::Thread open_thread;
    ring::Record ended{};
    ring::Record open{};
};

std::vector<std::string> texts_of(const Evidence& evidence) {
    std::vector<std::string> texts;
    for (const DriverLine& line : evidence.driver_lines)
        texts.push_back(line.text);
    return texts;
}

}  // namespace

TEST_CASE("Only lines inside a reported call and in its thread belong to the report") {
    const std::vector<Line> lines = {line_of(1, "before", 99),      line_of(2, "first", 100),
                                     line_of(3, "other", 300, 8),   line_of(4, "last", 1000),
                                     line_of(5, "after", 1001),     line_of(6, "elsewhere", 500, 9),
                                     line_of(7, "open", 900'000, 8)};
    const Recorded recorded(lines);
    CHECK(texts_of(recorded.evidence()) == std::vector<std::string>{"first", "last", "open"});
    CHECK(texts_of(recorded.evidence(false)) == std::vector<std::string>{"first", "last"});
    CHECK(recorded.evidence().notes.empty());
}

TEST_CASE("The log of another process counts for nothing, and a damaged one is noted") {
    CHECK(texts_of(Recorded({line_of(1, "text")}, 4243).evidence()).empty());
    const Recorded damaged({line_of(1, "text")});
    write_text(damaged.folder.path() / "driver_log.map", "no log");
    CHECK(damaged.evidence().driver_lines.empty());
    REQUIRE(damaged.evidence().notes.size() == 1);
    std::filesystem::remove(damaged.folder.path() / "driver_log.map");
    CHECK(damaged.evidence().notes.empty());
}

}  // namespace aoti_dbg::test::driver_log_test

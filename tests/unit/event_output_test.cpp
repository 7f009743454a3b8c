// The event log on disk and the text log: their contents, and the effect of a kill, a full disk and existing
// files.
#include "shim/record/event_output.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "serializer/event_reader.hpp"
#include "shim/record/event_log.hpp"
#include "shim/record/line_log.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/random.hpp"
#include "tests/support/run_program.hpp"
#include "tests/unit/event_fixture.hpp"

namespace aoti_dbg::event_output_test {
namespace {

using namespace test;

std::unique_ptr<EventLog> open_events(const TempFolder& folder) {
    Result<std::unique_ptr<EventLog>> log = EventLog::create(folder.path());
    REQUIRE(log.ok());
    return std::move(log.value());
}

std::unique_ptr<LineLog> open_log(const TempFolder& folder) {
    Result<std::unique_ptr<LineLog>> log = LineLog::open(folder.path() / "log");
    REQUIRE(log.ok());
    return std::move(log.value());
}

std::string line_of(int number) {
    return "{\"event\":\"x\",\"number\":" + std::to_string(number) + "}\n";
}

/// The number of whole events in the file. Checks everything else in it too.
std::uint64_t whole_events(const std::string& text) {
    EventReader reader([&text, at = std::size_t{0}](char* to, std::size_t bytes) mutable {
        const std::size_t part = std::min(bytes, text.size() - at);
        std::memcpy(to, text.data() + at, part);
        at += part;
        return part;
    });
    ReadEvent event;
    std::uint64_t count = 0;
    while (reader.next(event))
        ++count;
    CHECK(reader.notes().damaged == 0);
    CHECK_FALSE(reader.notes().is_cut);
    return count;
}

struct Sample {
    SiteFacts site = site_of("kernel");
    ArgumentFacts label = label_of("buf0");
    HeldTensor held{DType::float32, {2}, std::vector<float>{1, 2}};
    std::vector<MeasuredArgument> arguments = {held.measured(label)};
    [[nodiscard]] MeasuredCall call() const { return call_of(EventSide::before, &site, arguments); }
};

TEST_CASE("A full disk keeps whole lines, and the lost ones are counted") {
    const TempFolder folder;
    const int status = in_child([&folder] {
        const rlimit limit{64 * 1024, 64 * 1024};
        setrlimit(RLIMIT_FSIZE, &limit);
        Result<std::unique_ptr<EventLog>> log = EventLog::create(folder.path());
        if (!log.ok()) ::_exit(1);
        for (int i = 0; i < 5000; ++i)
            log.value()->append(line_of(i));
        log.value()->append(line_of(0) + line_of(1));
        log.value()->close();
        const std::uint64_t written = whole_events(read_text(folder.path() / "events.jsonl"));
        ::_exit(written > 1000 && written + log.value()->lost() == 5002 ? 0 : 2);
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(read_text(folder.path() / "events.jsonl").back() == '\n');
}

TEST_CASE("A killed process leaves whole lines and blank ones") {
    const TempFolder folder;
    const int status = in_child([&folder] {
        Result<std::unique_ptr<EventLog>> log = EventLog::create(folder.path());
        for (int i = 0; log.ok() && i < 9000; ++i)
            log.value()->append(line_of(i));
        raise(SIGKILL);
    });
    CHECK(WIFSIGNALED(status));
    CHECK(whole_events(read_text(folder.path() / "events.jsonl")) == 9000);
}

TEST_CASE("A closed event log has exactly what was appended, even a line longer than a step") {
    const TempFolder folder;
    const std::unique_ptr<EventLog> log = open_events(folder);
    std::string expected;
    for (int i = 0; i < 20000; ++i) {
        expected += line_of(i);
        log->append(line_of(i));
    }
    const std::string huge = "{\"event\":\"x\",\"y\":\"" + std::string(3000000, 'y') + "\"}\n";
    log->append(huge);
    log->append(line_of(1));
    log->close();
    log->append(line_of(2));
    log->close();
    CHECK(log->lost() == 1);
    CHECK(read_text(folder.path() / "events.jsonl") == expected + huge + line_of(1));
    struct stat info {};
    REQUIRE(stat(log->path(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE("Existing files are not overwritten") {
    const TempFolder folder;
    const std::string pid = std::to_string(getpid());
    write_text(folder.path() / "events.jsonl", "old\n");
    CHECK(open_events(folder)->path() == (folder.path() / ("events-" + pid + ".jsonl")).string());
    CHECK(open_events(folder)->path() == (folder.path() / ("events-" + pid + ".jsonl.2")).string());
    CHECK(read_text(folder.path() / "events.jsonl") == "old\n");
    CHECK_FALSE(EventLog::create(folder.path() / "missing").ok());
}

TEST_CASE("Events go to the event log as JSON and to the log in the chosen format") {
    const TempFolder folder;
    const std::unique_ptr<EventLog> events = open_events(folder);
    const std::unique_ptr<LineLog> log = open_log(folder);
    const Sample sample;
    const auto write = [&](OutputFormat format) {
        EventOutput output(events.get(), log.get(), format, false);
        output.header({});
        output.model({});
        output.call(sample.call());
        output.other("{\"event\":\"finding\"}\n", "a finding\n");
        output.coverage({});
        events->close();
        log->close();
    };
    const auto event_lines = [&] { return read_text(folder.path() / "events.jsonl"); };
    const auto log_lines = [&] { return read_text(folder.path() / "log"); };
    SECTION("as text") {
        write(OutputFormat::text);
        CHECK(log_lines().find("[  before_launch - kernel - buf0  ]:\n") == 0);
        CHECK(log_lines().find("\n\na finding\n") != std::string::npos);
        CHECK(whole_events(event_lines()) == 8);
    }
    SECTION("as compact lines") {
        write(OutputFormat::compact);
        CHECK(log_lines().find("     3.12 > kernel") != std::string::npos);
    }
    SECTION("as JSON, the same twice") {
        write(OutputFormat::jsonl);
        CHECK(log_lines() == event_lines());
        CHECK(whole_events(event_lines()) == 8);
        CHECK(log_lines().find("a finding\n") == std::string::npos);
    }
}

TEST_CASE("A call counts as printed once, and only if a part of it is in the log") {
    const TempFolder folder;
    const int status = in_child([&folder] {
        const rlimit limit{64 * 1024, 64 * 1024};
        setrlimit(RLIMIT_FSIZE, &limit);
        const std::unique_ptr<LineLog> log = open_log(folder);
        EventOutput output(nullptr, log.get(), OutputFormat::text, false);
        const Sample sample;
        MeasuredCall call = sample.call();
        for (std::uint64_t i = 1; i <= 3000; ++i) {
            call.sequence = i;
            for (const EventSide side : {EventSide::before, EventSide::after}) {
                call.side = side;
                output.call(call);
            }
            output.flush();
        }
        log->close();
        const std::string text = read_text(folder.path() / "log");
        const auto lines = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
        const std::uint64_t printed = output.printed();
        if (printed < 10 || printed >= 3000) ::_exit(2);
        // Each call has as many lines, and the file ends between two calls.
        const bool is_exact = lines % printed == 0 && log->lost() == (3000 - printed) * (lines / printed);
        ::_exit(is_exact ? 0 : 3);
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("Events of a call belong together whatever lies between them") {
    FirstEvents events;
    const auto is_first = [&events](EventSide side, std::uint64_t sequence, std::uint64_t thread = 1) {
        MeasuredCall event;
        event.side = side;
        event.sequence = sequence;
        event.thread = thread;
        return events.is_first(event);
    };
    CHECK(is_first(EventSide::before, 1));
    CHECK_FALSE(is_first(EventSide::before, 1));  // its name, then its tensors
    CHECK(is_first(EventSide::before, 2));        // inside the first
    CHECK(is_first(EventSide::before, 3, 2));     // of another thread
    CHECK(is_first(EventSide::after, 4));         // printed only after it
    CHECK_FALSE(is_first(EventSide::after, 4));
    CHECK_FALSE(is_first(EventSide::after, 2));
    CHECK(is_first(EventSide::before, 5));  // an exception unwinds it
    CHECK_FALSE(is_first(EventSide::after, 1));
    CHECK_FALSE(is_first(EventSide::after, 1));
    CHECK_FALSE(is_first(EventSide::after, 3, 2));
    CHECK_FALSE(is_first(EventSide::inputs, 6));
    CHECK_FALSE(is_first(EventSide::outputs, 6));
}

TEST_CASE("If one of the two logs is missing the other still gets its own events") {
    const TempFolder folder;
    const Sample sample;
    const std::unique_ptr<LineLog> log = open_log(folder);
    EventOutput text(nullptr, log.get(), OutputFormat::text, false);
    text.call(sample.call());
    text.flush();
    log->close();
    CHECK(read_text(folder.path() / "log").find("[  before_launch") == 0);
    const std::unique_ptr<EventLog> events = open_events(folder);
    EventOutput output(events.get(), nullptr, OutputFormat::text, false);
    output.call(sample.call());
    output.other({}, "text alone\n");
    events->close();
    CHECK(whole_events(read_text(folder.path() / "events.jsonl")) == 4);
}

TEST_CASE("Calls are batched, and go out when there are many, at a flush, and before a finding") {
    const TempFolder folder;
    const Sample sample;
    const std::unique_ptr<EventLog> events = open_events(folder);
    EventOutput output(events.get(), nullptr, OutputFormat::text, false);
    const auto lines = [&] { return whole_events(read_text(folder.path() / "events.jsonl")); };
    output.call(sample.call());
    CHECK(lines() == 0);
    output.flush();
    const auto once = lines();
    CHECK(once > 0);
    output.call(sample.call());
    output.other("{\"event\":\"finding\"}\n", {});
    const auto with_finding = lines();
    CHECK(with_finding > once + 1);
    for (int i = 0; i < 1000; ++i)
        output.call(sample.call());
    CHECK(lines() > with_finding + 500);
    output.flush();
    events->close();
    CHECK(lines() >= with_finding + 1000);
}

TEST_CASE("Long and short texts follow each other in the file, whatever their lengths") {
    const TempFolder folder;
    const std::unique_ptr<EventLog> events = open_events(folder);
    Random random(11);
    std::string all;
    for (int i = 0; i < 400; ++i) {
        const std::size_t longest = random.one_in(3) ? 200000 : 300;
        const std::string line(1 + random.below(longest), static_cast<char>('a' + i % 26));
        events->append(line + "\n");
        all += line + "\n";
        if (random.one_in(40)) {
            const std::string now = read_text(folder.path() / "events.jsonl");
            REQUIRE(now.compare(0, all.size(), all) == 0);
            REQUIRE(now.find_first_not_of('\n', all.size()) == std::string::npos);
        }
    }
    events->close();
    CHECK(read_text(folder.path() / "events.jsonl") == all);
    CHECK(events->lost() == 0);
}

}  // namespace
}  // namespace aoti_dbg::event_output_test

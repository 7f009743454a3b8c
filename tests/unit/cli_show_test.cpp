// `aoti-dbg show`: rings written by hand, and the resulting text.
#include <chrono>
#include <cstring>

#include "serializer/event_compact.hpp"
#include "serializer/event_jsonl.hpp"
#include "serializer/event_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"
#include "tests/support/ring_writer.hpp"
#include "tests/support/run_program.hpp"
#include "tests/unit/event_fixture.hpp"

namespace aoti_dbg::test::cli_show_test {

namespace fs = std::filesystem;

namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

Outcome show(std::vector<std::string> arguments, const std::string& cwd = "") {
    arguments.insert(arguments.begin(), {places::kTool, "show"});
    return run_program(arguments, {}, std::chrono::seconds(60), cwd);
}

std::string ring_of(const std::vector<ring::Record>& records, const std::vector<std::string>& names = {"k"}) {
    return file_start() + names_block(names) + thread_block(7, records);
}

std::string line_with(const std::string& text, const std::string& part) {
    const std::size_t place = text.find(part);
    if (place == std::string::npos) return {};
    const std::size_t begin = text.rfind('\n', place) + 1;
    return text.substr(begin, text.find('\n', place) - begin);
}

/// A run of level 2, as its file and as printed.
struct RecordedRun {
    std::string events;
    std::string text;
    std::string compact;

    explicit RecordedRun(int calls = 3) {
        JsonlRenderer jsonl;
        TextRenderer as_text;
        CompactRenderer as_compact(false);
        const SiteFacts site = site_of("kernel");
        const ArgumentFacts label = label_of("buf0");
        const HeldTensor held(DType::float32, {2}, std::vector<float>{1, 2});
        const std::vector<MeasuredArgument> arguments = {held.measured(label)};
        JsonlRenderer::render_header({}, events);
        for (int i = 0; i < calls; ++i) {
            MeasuredCall call = call_of(EventSide::before, &site, arguments);
            call.thread = 7;
            jsonl.render(call, events);
            as_text.render(call, text);
            as_compact.render(call, compact);
        }
    }
};

Outcome show_as(const std::string& format, const fs::path& place) {
    return show({"--format", format, place.string()});
}

}  // namespace

TEST_CASE("Without events, show says what is missing, why and what to try") {
    const TempFolder folder;
    const Outcome none = show_as("text", folder.path());
    CHECK(none.exit_code == 1);
    CHECK(contains(none.err, "error AD3002: no events.jsonl in " + folder.path().string() +
                                 " or below it. Run the program with --level 2 "));
    CHECK(contains(show_as("text", folder.path() / "missing").err, ": no such file or directory."));
    write_text(folder.path() / "other", "something else\nand more\n");
    const Outcome other = show_as("text", folder.path() / "other");
    CHECK(other.exit_code == 1);
    CHECK(contains(other.err, "has no events. Give an events.jsonl."));
    write_text(folder.path() / "events.jsonl", "\n\n");
    CHECK(contains(show_as("text", folder.path()).err, "has no calls."));
    const Outcome wrong = show_as("compat", folder.path());
    CHECK(wrong.exit_code == 2);
    CHECK(contains(wrong.err,
                   "--format: expected text, compact or jsonl, got \"compat\". Did you mean \"compact\"?"));
    CHECK(show({"--format", "text", "--last", "3", folder.path()}).exit_code == 2);
}

TEST_CASE("Wrong or contradictory flags of show are refused, and nothing is printed") {
    const TempFolder folder;
    write_text(folder.path() / "flight.ring", ring_of({record(1, 0)}));
    const auto refused = [&](std::vector<std::string> flags) {
        flags.push_back(folder.path());
        const Outcome outcome = show(flags);
        CHECK(outcome.exit_code == 2);
        CHECK(outcome.out.empty());
        return outcome.err;
    };
    CHECK(contains(refused({"--last", "-1"}), "--last: expected a number of calls, 0 or more, got \"-1\"."));
    CHECK(contains(refused({"--last", "3x"}), "got \"3x\"."));
    CHECK(contains(refused({"--last", "3", "--all"}), "--last and --all contradict each other."));
    CHECK(contains(refused({"--thread", "-7"}), "--thread: expected a thread id, got \"-7\"."));
    CHECK(contains(refused({"--format", "text", "--all"}), "--format prints every event. Leave out --all."));
    CHECK(show({"--last", "1", folder.path()}).exit_code == 0);
}

TEST_CASE("A reader that closes early is not a failure of show --format") {
    const TempFolder folder;
    write_text(folder.path() / "events.jsonl", RecordedRun(20000).events);
    const Outcome outcome =
        run_program({"/bin/bash", "-c", "\"$0\" show --format text \"$1\" | head -n 1; exit ${PIPESTATUS[0]}",
                     places::kTool, folder.path()});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    CHECK(outcome.out == "[  before_launch - kernel - buf0  ]:\n");
}

TEST_CASE("Recorded events are shown as they would have been printed, in each format") {
    const TempFolder folder;
    const RecordedRun run(3000);
    write_text(folder.path() / "events.jsonl", run.events + std::string(500, '\n'));
    CHECK(show_as("text", folder.path()).out == run.text);
    CHECK(show_as("text", folder.path() / "events.jsonl").out == run.text);
    CHECK(show_as("compact", folder.path()).out == run.compact);
    CHECK(show_as("jsonl", folder.path()).out == run.events);
    CHECK(show_as("text", folder.path()).err.empty());
}

TEST_CASE("A file that is truncated, damaged or newer is shown as far as it goes, with a message") {
    const TempFolder folder;
    const fs::path file = folder.path() / "events.jsonl";
    const RecordedRun run;
    write_text(file, run.events.substr(0, run.events.size() - 20));
    const Outcome cut = show_as("text", file);
    CHECK(cut.exit_code == 0);
    CHECK(contains(cut.err, "the last line is incomplete"));
    CHECK(cut.out == run.text.substr(0, cut.out.size()));
    write_text(file, "rubbish\n" + run.events);
    CHECK(contains(show_as("text", file).err, "lines are damaged and left out. The first is line 1."));
    CHECK(show_as("text", file).out == run.text);
    write_text(file, "{\"event\":\"header\",\"format\":\"aoti-dbg-events\",\"version\":9}\n" + run.events);
    CHECK(contains(show_as("text", file).err, "newer version"));
}

TEST_CASE("On request only one thread's events are shown") {
    const TempFolder folder;
    const RecordedRun run;
    write_text(folder.path() / "events.jsonl", run.events);
    CHECK(show({"--format", "text", "--thread", "7", folder.path()}).out == run.text);
    const Outcome other = show({"--format", "text", "--thread", "8", folder.path()});
    CHECK(other.exit_code == 1);
    CHECK(contains(other.err, "no call of thread 8"));
}

TEST_CASE("Of several runs the latest one's events are shown, and the ring as before") {
    const TempFolder folder;
    fs::create_directories(folder.path() / "a-1");
    fs::create_directories(folder.path() / "b-2");
    const RecordedRun first(1);
    const RecordedRun second(2);
    write_text(folder.path() / "a-1" / "events.jsonl", first.events);
    write_text(folder.path() / "b-2" / "events.jsonl", second.events);
    write_text(folder.path() / "a-1" / "flight.ring", ring_of({record(1, 0)}));
    fs::create_directory_symlink("a-1", folder.path() / "latest");
    const Outcome outcome = show_as("text", folder.path());
    CHECK(outcome.out == first.text);
    CHECK(contains(outcome.err, "Other event files here: 1."));
    CHECK(contains(show({folder.path()}).out, "flight.ring"));
}

TEST_CASE("Files that cannot be shown give one line and exit code 1") {
    const TempFolder folder;
    const std::string missing = folder.path() / "missing";
    const Outcome none = show({missing});
    CHECK(none.exit_code == 1);
    CHECK(contains(none.err, "cannot open " + missing + ": no such file or directory."));
    CHECK(
        contains(show({folder.path()}).err, "no flight.ring in " + folder.path().string() + " or below it."));

    const std::string file = folder.path() / "flight.ring";
    write_text(file, "something else");
    CHECK(contains(show({file}).err, "not a flight recorder ring"));
    ring::FileHeader header = file_header();
    header.version = 9;
    write_text(file, file_start(header));
    const Outcome newer = show({folder.path()});
    CHECK(newer.exit_code == 1);
    CHECK(newer.out.empty());
    CHECK(contains(newer.err, "or older, got version 9"));
    write_text(file, ring_of({record(1, 0)}));
    CHECK(contains(show({folder.path(), "--thread", "99"}).err, "Its threads are: 7."));
}

TEST_CASE("A reader that closes early is not a failure of show") {
    const TempFolder folder;
    std::vector<ring::Record> many;
    for (std::uint64_t seq = 1; seq <= 20000; ++seq)
        many.push_back(record(seq, 0));
    write_text(folder.path() / "flight.ring",
               file_start() + names_block({"k"}) + thread_block(7, many, 32768));
    const Outcome outcome =
        run_program({"/bin/bash", "-c", "\"$0\" show --all \"$1\" | head -n 1; exit ${PIPESTATUS[0]}",
                     places::kTool, folder.path()});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    CHECK(contains(outcome.out, "flight.ring"));
}

TEST_CASE("Names with terminal controls are made harmless") {
    const TempFolder folder;
    write_text(folder.path() / "flight.ring", ring_of({record(1, 0)}, {"evil\x1b[2J\nname\xc2\x9b!\xff"}));
    const Outcome outcome = show({folder.path()});
    CHECK(contains(outcome.out, "evil?[2J?name?!\xEF\xBF\xBD"));
}

TEST_CASE("A ring with nonsense in every field of a record is still shown") {
    const TempFolder folder;
    ring::Record nonsense;
    std::memset(&nonsense, 0xff, sizeof nonsense);
    write_text(folder.path() / "flight.ring", ring_of({record(1, 0), nonsense}));
    const Outcome outcome = show({folder.path()});
    CHECK(outcome.exit_code == 0);
    CHECK(contains(outcome.out, "18446744073709551615"));
}

TEST_CASE("A ring without calls is shown as such") {
    const TempFolder folder;
    write_text(folder.path() / "flight.ring", file_start());
    const Outcome outcome = show({folder.path()});
    CHECK(outcome.exit_code == 0);
    CHECK(contains(outcome.out, "no calls"));
}

TEST_CASE("Unfinished calls are marked, including those older than the tail") {
    const TempFolder folder;
    std::vector<ring::Record> records = {open_record(1, 0)};
    for (std::uint64_t seq = 2; seq <= 30; ++seq)
        records.push_back(record(seq, 1));
    records.push_back(open_record(31, 2));
    write_text(folder.path() / "flight.ring", ring_of(records, {"hung", "fine", "last"}));
    const Outcome outcome = show({folder.path(), "--last", "3"});
    CHECK(contains(line_with(outcome.out, "hung"), "<-- did not end"));
    CHECK(contains(line_with(outcome.out, "last  "), "<-- did not end"));
    CHECK(contains(outcome.out, "2 did not end"));
    CHECK_FALSE(contains(outcome.out, "\n 28"));
    CHECK(contains(outcome.out, "\n 29"));
    CHECK(contains(outcome.out, "ended     abnormally"));
}

TEST_CASE("The table shows state, depth and time before the end") {
    const TempFolder folder;
    std::vector<ring::Record> records;
    for (std::uint64_t seq = 1; seq <= 4; ++seq)
        records.push_back(record(seq, static_cast<std::uint32_t>(seq - 1)));
    records[0].kind = ring::CallKind::run;
    records[0].call = ring::kNoCall;
    records[1].depth = 1;
    records[1].result = 700;
    records[2].depth = 2;
    records[2].flags = ring::kUnwoundByException;
    records[3].depth = 1;
    ring::FileHeader header = file_header();
    header.ended = 1;
    SECTION("with both timestamps") {
        write_text(
            folder.path() / "flight.ring",
            file_start(header) + names_block({"run", "mm", "kernel", "end"}) + thread_block(7, records));
        const Outcome outcome = show({folder.path()});
        CHECK(line_with(outcome.out, "before end") ==
              "seq  before end  thread  run  call  kind    name        state");
        // From the start of the first call to the end of the last: 350 ticks of 2 ns.
        CHECK(line_with(outcome.out, "  run     run") ==
              "  1    0.700 us       7    0     -  run     run         ok");
        CHECK(line_with(outcome.out, "triton    mm") ==
              "  2    0.500 us       7    0     2  triton    mm        error 700");
        CHECK(line_with(outcome.out, "kernel") ==
              "  3    0.300 us       7    0     3  triton      kernel  unwound by an exception");
        CHECK(contains(outcome.out, "ended     normally"));
    }
    SECTION("with several devices") {
        header.contexts[0] = {0x55, 0, 0};
        header.contexts[1] = {0x66, 1, 0};
        records[2].context = 2;
        write_text(
            folder.path() / "flight.ring",
            file_start(header) + names_block({"run", "mm", "kernel", "end"}) + thread_block(7, records));
        const Outcome outcome = show({folder.path()});
        CHECK(line_with(outcome.out, "before end") ==
              "seq  before end  thread  device  run  call  kind    name        state");
        CHECK(line_with(outcome.out, "  run     run") ==
              "  1    0.700 us       7  -         0     -  run     run         ok");
        CHECK(line_with(outcome.out, "kernel") ==
              "  3    0.300 us       7  cuda:1    0     3  triton      kernel  unwound by an exception");
    }
    SECTION("with one timestamp only") {
        header.anchor_ticks = header.start_ticks;
        header.anchor_unix_ns = header.start_unix_ns;
        write_text(
            folder.path() / "flight.ring",
            file_start(header) + names_block({"run", "mm", "kernel", "end"}) + thread_block(7, records));
        const Outcome outcome = show({folder.path()});
        CHECK(line_with(outcome.out, "thread  run  call") ==
              "seq  thread  run  call  kind    name        state");
    }
}

TEST_CASE("A folder of runs shows its `latest` or else the newest run, and lists the others") {
    const TempFolder folder;
    const fs::path old_ring = folder.path() / "a-1" / "flight.ring";
    const fs::path new_ring = folder.path() / "b-2" / "deeper" / "flight.ring";
    fs::create_directories(old_ring.parent_path());
    fs::create_directories(new_ring.parent_path());
    write_text(old_ring, ring_of({record(1, 0)}, {"older"}));
    write_text(new_ring, ring_of({record(1, 0)}, {"newer"}));
    fs::last_write_time(old_ring, fs::file_time_type::clock::now() - std::chrono::hours(1));
    const Outcome newest = show({folder.path()});
    CHECK(contains(newest.out, "newer"));
    CHECK(contains(newest.out.substr(newest.out.find("other rings")), old_ring.string()));
    fs::create_directory_symlink("a-1", folder.path() / "latest");
    CHECK(contains(show({folder.path()}).out, "older"));
    CHECK(contains(show({(folder.path() / "latest").string()}).out, "older"));
}

TEST_CASE("Of several rings in one folder the newest is shown and the others are listed") {
    const TempFolder folder;
    write_text(folder.path() / "flight.ring", ring_of({record(1, 0)}, {"older"}));
    write_text(folder.path() / "flight-77.ring", ring_of({record(1, 0)}, {"newer"}));
    fs::last_write_time(folder.path() / "flight.ring",
                        fs::file_time_type::clock::now() - std::chrono::hours(1));
    const Outcome outcome = show({folder.path()});
    CHECK(contains(outcome.out, "newer"));
    CHECK(contains(outcome.out.substr(outcome.out.find("other rings")), "flight.ring"));
}

TEST_CASE("On request only one thread's calls are shown") {
    const TempFolder folder;
    write_text(folder.path() / "flight.ring", file_start() + names_block({"mine", "other"}) +
                                                  thread_block(7, {record(1, 0)}) +
                                                  thread_block(8, {record(2, 1)}));
    const Outcome outcome = show({folder.path(), "--thread", "7"});
    CHECK(contains(outcome.out, "mine"));
    CHECK_FALSE(contains(outcome.out, "other"));
}

}  // namespace aoti_dbg::test::cli_show_test

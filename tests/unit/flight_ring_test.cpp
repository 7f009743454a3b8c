// The flight ring's reader with rings written by hand: torn, hostile, live, and in order.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <random>

#include "serializer/flight_ring_reader.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/ring_writer.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::test::flight_ring_test {
namespace {

std::string whole_ring() {
    return file_start() + names_block({"aoti_run", "addmm", ""}) +
           thread_block(11, {record(1, 0), record(3, 1), open_record(5, 1)}) + names_block({"softmax"}, 3) +
           thread_block(12, {record(2, 3), record(4, 3)}) + markers_block({}, {{0x70, 2, 4, 12, 0}});
}

ring::BlockHeader header_at(const std::string& bytes, std::size_t offset) {
    ring::BlockHeader header{};
    std::memcpy(&header, bytes.data() + offset, sizeof header);
    return header;
}

void set_header(std::string& bytes, std::size_t offset, const ring::BlockHeader& header) {
    std::memcpy(bytes.data() + offset, &header, sizeof header);
}

std::size_t records_in(const ring::Contents& contents) {
    return ring::merged_calls(contents).size();
}

}  // namespace

TEST_CASE("A ring cut off at any byte is read as far as it goes") {
    const std::string whole = whole_ring();
    std::size_t most = 0;
    for (std::size_t length = 0; length <= whole.size(); length += length < 8192 ? 97 : 61) {
        const Result<ring::Contents> read =
            ring::parse_flight_ring(std::string_view(whole).substr(0, length));
        REQUIRE(read.ok() == (length >= sizeof(ring::FileHeader)));
        if (!read.ok()) continue;
        const std::size_t records = records_in(read.value());
        CHECK(records >= most);
        most = records;
    }
    CHECK(most == 5);
}

TEST_CASE("A length that does not fit is noted and ends the reading") {
    std::string bytes = whole_ring();
    ring::BlockHeader header = header_at(bytes, ring::kPage);
    const auto bad = GENERATE(std::uint64_t{63}, std::uint64_t{4097}, UINT64_MAX, UINT64_MAX - 4095,
                              std::uint64_t{1} << 62U);
    header.bytes = bad;
    set_header(bytes, ring::kPage, header);
    const Result<ring::Contents> read = ring::parse_flight_ring(bytes);
    REQUIRE(read.ok());
    CHECK_FALSE(read.value().notes.empty());
    CHECK(read.value().threads.empty());
}

TEST_CASE("A thread that claims more records than its block has gives those that exist") {
    std::string bytes = file_start() + names_block({"a"}) + thread_block(7, {record(1, 0), record(2, 0)});
    ring::BlockHeader header = header_at(bytes, 2 * ring::kPage);
    header.capacity = UINT32_MAX;
    header.written = UINT64_MAX;
    set_header(bytes, 2 * ring::kPage, header);
    const Result<ring::Contents> read = ring::parse_flight_ring(bytes);
    REQUIRE(read.ok());
    CHECK(records_in(read.value()) == 2);
    CHECK(read.value().notes.size() == 1);
}

TEST_CASE("Names with decreasing or absurd numbers are left out, and the others stay") {
    const auto first = GENERATE(0U, 1U, UINT32_MAX);
    const std::string bytes = file_start() + names_block({"a", "b"}) + names_block({"c"}, first);
    const Result<ring::Contents> read = ring::parse_flight_ring(bytes);
    REQUIRE(read.ok());
    CHECK(read.value().names == std::vector<std::string>{"a", "b"});
    CHECK(read.value().notes.size() == 1);
}

TEST_CASE("Names that claim more than their block has are cut off") {
    std::string bytes = file_start() + names_block({"first", "second"});
    ring::BlockHeader header = header_at(bytes, ring::kPage);
    SECTION("a count beyond the entries") {
        header.count = UINT32_MAX;
    }
    SECTION("entries beyond the used part") {
        header.used = 9;
    }
    set_header(bytes, ring::kPage, header);
    const Result<ring::Contents> read = ring::parse_flight_ring(bytes);
    REQUIRE(read.ok());
    CHECK(read.value().name(0) == "first");
    CHECK(read.value().notes.size() == 1);
}

TEST_CASE("Other files, newer rings and other byte orders are each refused with their own reason") {
    ring::FileHeader header = file_header();
    std::string reason;
    SECTION("magic") {
        header.magic = 7;
        reason = "not a flight recorder ring";
    }
    SECTION("version 0") {
        header.version = 0;
        reason = "not a flight recorder ring";
    }
    SECTION("newer version") {
        header.version = ring::kVersion + 1;
        reason = "or older, got version";
    }
    SECTION("byte order") {
        header.magic = __builtin_bswap64(ring::kMagic);
        reason = "byte order";
    }
    SECTION("record size") {
        header.record_bytes = 8;
        reason = "damaged";
    }
    const Result<ring::Contents> read = ring::parse_flight_ring(file_start(header));
    REQUIRE_FALSE(read.ok());
    INFO(read.status().message());
    CHECK(read.status().message().find(reason) != std::string::npos);
}

TEST_CASE("Texts of the header end even if the file does not end them") {
    ring::FileHeader header = file_header();
    std::memset(header.program, 'x', sizeof header.program);
    std::memset(header.library, 'y', sizeof header.library);
    const Result<ring::Contents> read = ring::parse_flight_ring(file_start(header));
    REQUIRE(read.ok());
    CHECK(std::strlen(read.value().header.program) == sizeof header.program - 1);
    CHECK(std::strlen(read.value().header.library) == sizeof header.library - 1);
}

TEST_CASE("A record that is being written is left out") {
    ring::Record half = record(0, 0);
    const std::string bytes = file_start() + names_block({"a"}) + thread_block(7, {record(1, 0), half});
    const Result<ring::Contents> read = ring::parse_flight_ring(bytes);
    REQUIRE(read.ok());
    CHECK(records_in(read.value()) == 1);
    CHECK(read.value().threads.at(0).written == 2);
}

TEST_CASE("A block of an unknown kind is skipped") {
    std::string strange = thread_block(1, {record(9, 0)});
    ring::BlockHeader header = header_at(strange, 0);
    header.kind = static_cast<ring::BlockKind>(77);
    set_header(strange, 0, header);
    const Result<ring::Contents> read =
        ring::parse_flight_ring(file_start() + strange + thread_block(2, {record(1, 0)}));
    REQUIRE(read.ok());
    CHECK(records_in(read.value()) == 1);
    CHECK(read.value().notes.size() == 1);
}

TEST_CASE("Markers are found by the marks of launches only") {
    ring::MarkersHeader header{};
    header.error = 700;
    const std::string bytes = file_start() +
                              markers_block(header, {{0x70, 2, 4, 12, 0}, {0x80, 9, 9, 12, 0}}) +
                              markers_block({}, {{0, 1, 1, 13, 0}}, 513);
    const Result<ring::Contents> read = ring::parse_flight_ring(bytes);
    REQUIRE(read.ok());
    const ring::Contents& contents = read.value();
    REQUIRE(contents.markers.size() == 2);
    CHECK(contents.markers_of(2) == &contents.markers.front());
    CHECK(contents.markers_of(513) == &contents.markers.back());
    for (const std::uint32_t mark : {0U, 3U, 512U, 514U, UINT32_MAX})
        CHECK(contents.markers_of(mark) == nullptr);
    CHECK(contents.markers.front().header.error == 700);
    CHECK(contents.markers.front().streams.at(1).completed == 9);
    CHECK(contents.notes.empty());
}

TEST_CASE("Markers that claim more than their block has are those that exist") {
    std::string bytes = file_start() + markers_block({}, {{0x70, 2, 4, 12, 0}});
    ring::BlockHeader header = header_at(bytes, ring::kPage);
    header.capacity = UINT32_MAX;
    set_header(bytes, ring::kPage, header);
    const Result<ring::Contents> read = ring::parse_flight_ring(bytes);
    REQUIRE(read.ok());
    CHECK(read.value().markers.at(0).streams.size() ==
          (ring::kPage - sizeof(ring::BlockHeader) - sizeof(ring::MarkersHeader)) /
              sizeof(ring::MarkedStream));
    CHECK(read.value().notes.size() == 1);
}

TEST_CASE("A ring from before markers is read as before") {
    ring::FileHeader header = file_header();
    header.version = 2;
    ring::Record call = record(1, 0);
    const std::uint32_t depth = 300;  // it used to have four bytes
    std::memcpy(&call.depth, &depth, sizeof depth);
    const Result<ring::Contents> read =
        ring::parse_flight_ring(file_start(header) + names_block({"a"}) + thread_block(1, {call}));
    REQUIRE(read.ok());
    CHECK(read.value().threads.at(0).records.at(0).depth == 255);
    CHECK(read.value().threads.at(0).records.at(0).context == 0);
    CHECK(read.value().threads.at(0).records.at(0).mark == 0);
}

TEST_CASE("Records have their lines, which rings before version 5 do not contain") {
    for (const std::uint32_t version : {ring::kVersion, 4U}) {
        CAPTURE(version);
        ring::FileHeader header = file_header();
        header.version = version;
        const Result<ring::Contents> read = ring::parse_flight_ring(
            file_start(header) + names_block({"a"}) +
            thread_block(1, {record(4, 0), record(2, 0), record(7, 0)}, 4, {12, 0, 0xffffffff}));
        REQUIRE(read.ok());
        const ring::Thread& thread = read.value().threads.at(0);
        REQUIRE(thread.records.size() == 3);
        CHECK(thread.line_of(thread.records[0]) == 0);
        CHECK(thread.line_of(thread.records[1]) == (version == 4 ? 0 : 12));
        CHECK(thread.line_of(thread.records[2]) == (version == 4 ? 0 : 0xffffffff));
    }
}

TEST_CASE("A ring from before contexts is read as before") {
    ring::FileHeader header = file_header();
    header.version = 3;
    ring::Record call = record(1, 0);
    call.mark = 5;
    const std::uint16_t depth = 0x107;  // it used to have two bytes
    std::memcpy(&call.depth, &depth, sizeof depth);
    const Result<ring::Contents> read =
        ring::parse_flight_ring(file_start(header) + names_block({"a"}) + thread_block(1, {call}));
    REQUIRE(read.ok());
    const ring::Record& found = read.value().threads.at(0).records.at(0);
    CHECK(found.depth == 255);
    CHECK(found.context == 0);
    CHECK(found.mark == 5);
    CHECK(read.value().context_of(found) == nullptr);
}

TEST_CASE("The context of a launch is shown if the header has it") {
    ring::FileHeader header = file_header();
    header.contexts[0] = {0x5500, 0, 0};
    header.contexts[1] = {0x6600, 1, 0};
    std::vector<ring::Record> calls;
    for (const std::uint8_t context : {0, 1, 2, 3, 64, 65, 255})
        calls.emplace_back(record(calls.size() + 1, 0)).context = context;
    const Result<ring::Contents> read =
        ring::parse_flight_ring(file_start(header) + names_block({"a"}) + thread_block(1, calls));
    REQUIRE(read.ok());
    const ring::Contents& contents = read.value();
    std::vector<std::uint64_t> handles;
    for (const ring::Record& call : contents.threads.at(0).records) {
        const ring::DeviceContext* const context = contents.context_of(call);
        handles.push_back(context == nullptr ? 0 : context->handle);
    }
    CHECK(handles == std::vector<std::uint64_t>{0, 0x5500, 0x6600, 0, 0, 0, 0});
    CHECK(contents.has_several_devices());
    header.contexts[1].device = 0;
    const Result<ring::Contents> one = ring::parse_flight_ring(file_start(header));
    REQUIRE(one.ok());
    CHECK_FALSE(one.value().has_several_devices());
}

TEST_CASE("Records come back in order although the ring has wrapped, and threads are merged by number") {
    std::vector<ring::Record> written;
    for (std::uint64_t seq = 1; seq <= 11; seq += 2)
        written.push_back(record(seq, 0));
    const std::string bytes =
        file_start() + names_block({"a"}) + thread_block(1, written, 4) + thread_block(2, {record(8, 0)}, 4);
    const Result<ring::Contents> read = ring::parse_flight_ring(bytes);
    REQUIRE(read.ok());
    std::vector<std::uint64_t> order;
    for (const ring::Call& call : ring::merged_calls(read.value()))
        order.push_back(call.record->seq);
    CHECK(order == std::vector<std::uint64_t>{5, 7, 8, 9, 11});
    CHECK(read.value().threads.at(0).written == 6);
}

TEST_CASE("Names count up over blocks, and an unknown one reads as a question mark") {
    const Result<ring::Contents> read = ring::parse_flight_ring(whole_ring());
    REQUIRE(read.ok());
    CHECK(read.value().name(1) == "addmm");
    CHECK(read.value().name(2) == "?");
    CHECK(read.value().name(3) == "softmax");
    CHECK(read.value().name(UINT32_MAX) == "?");
    CHECK(read.value().notes.empty());
}

TEST_CASE("A file is read while another mapping writes to it, and grows with it") {
    const TempFolder folder;
    const std::string path = folder.path() / "flight.ring";
    const std::string start = file_start() + names_block({"a"}) + thread_block(7, {record(1, 0)});
    write_text(path, start + std::string(ring::kPage, '\0'));
    const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(descriptor >= 0);
    char* const live =
        static_cast<char*>(mmap(nullptr, start.size(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0));
    REQUIRE(live != MAP_FAILED);
    close(descriptor);
    const ring::Record second = open_record(2, 0);
    std::memcpy(live + 2 * ring::kPage + sizeof(ring::BlockHeader) + sizeof second, &second, sizeof second);
    const Result<ring::Contents> read = ring::read_flight_ring(path);
    munmap(live, start.size());
    REQUIRE(read.ok());
    CHECK(records_in(read.value()) == 2);
}

TEST_CASE("Other than regular files are refused without waiting") {
    const TempFolder folder;
    const std::string pipe = folder.path() / "pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_FALSE(ring::read_flight_ring(pipe).ok());
    CHECK_FALSE(ring::read_flight_ring(folder.path()).ok());
    CHECK_FALSE(ring::read_flight_ring(folder.path() / "missing").ok());
    const std::string huge = folder.path() / "huge";
    write_text(huge, whole_ring());
    REQUIRE(truncate(huge.c_str(), static_cast<off_t>(ring::kLargestFile) + 1) == 0);
    CHECK_FALSE(ring::read_flight_ring(huge).ok());
}

TEST_CASE("No change of a few bytes crashes the reader or makes it invent records") {
    const std::string whole = whole_ring();
    std::mt19937_64 random(20261121);
    const auto stop = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    std::size_t rounds = 0;
    for (; rounds < 20000 && std::chrono::steady_clock::now() < stop; ++rounds) {
        std::string bytes = whole;
        for (std::uint64_t changes = 1 + random() % 8; changes > 0; --changes) {
            // Mostly in the headers, which have the lengths.
            std::size_t place = random() % bytes.size();
            if (random() % 4 != 0)
                place = place / ring::kPage * ring::kPage + random() % sizeof(ring::BlockHeader);
            if (place < sizeof(std::uint64_t) * 2) continue;  // magic and version have a test of their own
            bytes[place] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
        }
        if (random() % 4 == 0) bytes.resize(random() % bytes.size());
        const Result<ring::Contents> read = ring::parse_flight_ring(bytes);
        if (!read.ok()) continue;
        REQUIRE(records_in(read.value()) <= bytes.size() / sizeof(ring::Record));
        for (const ring::Call& call : ring::merged_calls(read.value())) {
            REQUIRE_FALSE(read.value().name(call.record->name).empty());
        }
    }
    CHECK(rounds > 0);
}

}  // namespace aoti_dbg::test::flight_ring_test

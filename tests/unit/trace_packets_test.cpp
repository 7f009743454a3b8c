// The bytes of a trace: varints, nested messages, and texts that are written once. tests/trace reads whole
// traces with Perfetto's own classes.
#include "cli/trace/trace_packets.hpp"

#include <cstddef>
#include <limits>
#include <vector>

#include "cli/trace/argument_keys.hpp"
#include "cli/trace/proto_writer.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::cli::trace_packets_test {
namespace {

/// A reader of protobuf that shares nothing with the writer.
struct Field {
    std::uint64_t number = 0;
    std::uint64_t value = 0;  // of a varint or fixed64
    std::string text;         // of a message or string
};

std::uint64_t read_varint(const std::string& bytes, std::size_t& at) {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        REQUIRE(at < bytes.size());
        REQUIRE(shift < 70);
        const auto byte = static_cast<unsigned char>(bytes[at++]);
        value |= std::uint64_t{byte & 0x7FU} << shift;
        if (byte < 0x80) return value;
    }
}

std::vector<Field> fields_of(const std::string& bytes) {
    std::vector<Field> fields;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::uint64_t tag = read_varint(bytes, at);
        Field& field = fields.emplace_back();
        field.number = tag >> 3U;
        if ((tag & 7U) == 0) {
            field.value = read_varint(bytes, at);
        } else if ((tag & 7U) == 1) {
            for (unsigned i = 0; i < 8; ++i)
                field.value |= std::uint64_t{static_cast<unsigned char>(bytes.at(at++))} << (8 * i);
        } else {
            REQUIRE((tag & 7U) == 2);
            const std::uint64_t length = read_varint(bytes, at);
            REQUIRE(length <= bytes.size() - at);
            field.text = bytes.substr(at, length);
            at += length;
        }
    }
    return fields;
}

/// Returns the fields with that number.
std::vector<Field> fields_of(const std::string& bytes, std::uint64_t number) {
    std::vector<Field> found;
    for (Field& field : fields_of(bytes))
        if (field.number == number) found.push_back(std::move(field));
    return found;
}

Field only(const std::string& bytes, std::uint64_t number) {
    std::vector<Field> found = fields_of(bytes, number);
    REQUIRE(found.size() == 1);
    return found.front();
}

constexpr std::uint64_t kTrackEvent = 11;
constexpr std::uint64_t kInternedData = 12;
constexpr std::uint64_t kSequenceFlags = 13;
constexpr std::uint64_t kNameIid = 10;

TEST_CASE("Varints have the fewest bytes, and read back as they were") {
    for (const auto& [value, length] : std::vector<std::pair<std::uint64_t, std::size_t>>{
             {0, 1},
             {127, 1},
             {128, 2},
             {16383, 2},
             {16384, 3},
             {std::uint64_t{1} << 56U, 9},
             {std::numeric_limits<std::uint64_t>::max(), 10}}) {
        std::string bytes;
        proto::append_varint(value, bytes);
        CHECK(bytes.size() == length);
        std::size_t at = 0;
        CHECK(read_varint(bytes, at) == value);
    }
}

TEST_CASE("Fields of each type read back as they were") {
    std::string bytes;
    proto::append_number(1, 300, bytes);
    proto::append_fixed64(2, 0x0102030405060708U, bytes);
    proto::append_double(1000, 1.5, bytes);
    proto::append_text(3, std::string("a\0b", 3), bytes);
    const std::vector<Field> fields = fields_of(bytes);
    REQUIRE(fields.size() == 4);
    CHECK(fields[0].value == 300);
    CHECK(fields[1].value == 0x0102030405060708U);
    CHECK(fields[2].number == 1000);
    CHECK(fields[2].value == 0x3FF8000000000000U);
    CHECK(fields[3].text == std::string("a\0b", 3));
}

TEST_CASE("Nested messages have their own lengths, empty or long") {
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{127}, std::size_t{128},
                                     std::size_t{20000}, std::size_t{3} << 20U}) {
        std::string bytes = "x";
        const std::size_t outer = proto::begin(1, bytes);
        const std::size_t inner = proto::begin(2, bytes);
        bytes.append(length, 'y');
        proto::end(inner, bytes);
        proto::append_number(3, 4, bytes);
        proto::end(outer, bytes);
        const std::string message = only(bytes.substr(1), 1).text;
        CHECK(only(message, 2).text == std::string(length, 'y'));
        CHECK(only(message, 3).value == 4);
    }
}

std::vector<Field> events(TracePackets& packets, std::string& out, const std::vector<std::string>& names) {
    out.clear();
    for (const std::string& name : names) {
        packets.begin_event(TracePackets::Type::begin, 7, 1000);
        packets.name(name);
        packets.end_event();
    }
    return fields_of(out, 1);
}

TEST_CASE("A name is written once and then referenced") {
    std::string out;
    TracePackets packets(out);
    const std::vector<Field> written = events(packets, out, {"relu", "mm", "relu"});
    REQUIRE(written.size() == 3);
    const auto name_of = [](const Field& packet) {
        return only(only(packet.text, kTrackEvent).text, kNameIid).value;
    };
    CHECK(name_of(written[0]) == name_of(written[2]));
    CHECK(name_of(written[0]) != name_of(written[1]));
    CHECK(only(only(only(written[0].text, kInternedData).text, 2).text, 2).text == "relu");
    CHECK(fields_of(written[2].text, kInternedData).empty());
    // Only the first packet clears the state.
    CHECK(only(written[0].text, kSequenceFlags).value == 3);
    CHECK(only(written[1].text, kSequenceFlags).value == 2);
}

TEST_CASE("Texts are clean UTF-8, whatever they hold") {
    std::string out;
    TracePackets packets(out);
    const std::vector<Field> written = events(packets, out, {"a\x1b[2J\xff"});
    CHECK(only(only(only(written[0].text, kInternedData).text, 2).text, 2).text == "a?[2J\xEF\xBF\xBD");
}

TEST_CASE("Texts start over before they take too much memory, and numbers change with them") {
    std::string out;
    TracePackets packets(out);
    const std::uint32_t generation = packets.generation();
    const std::string large(std::size_t{1} << 20U, 'x');
    std::vector<std::string> names;
    for (int i = 0; i < 40; ++i)
        names.push_back(large + std::to_string(i));
    const std::vector<Field> written = events(packets, out, names);
    CHECK(packets.generation() != generation);
    std::size_t cleared = 0;
    for (const Field& packet : written) {
        cleared += only(packet.text, kSequenceFlags).value == 3 ? 1 : 0;
        REQUIRE(fields_of(packet.text, kInternedData).size() == 1);
    }
    CHECK(cleared == 2);
}

TEST_CASE("Annotations can be numbers, texts and groups of them") {
    std::string out;
    TracePackets packets(out);
    packets.begin_event(TracePackets::Type::begin, 7, 1000);
    packets.annotate("seq", 5);
    packets.begin_group("before");
    packets.annotate("buf0", "float32 [2]");
    packets.annotate_shared("buf1", "float32 [3]");
    packets.end_group();
    packets.annotate("run", 6);
    packets.end_event();
    const std::vector<Field> annotations = fields_of(only(only(out, 1).text, kTrackEvent).text, 4);
    REQUIRE(annotations.size() == 3);
    CHECK(only(annotations[0].text, 3).value == 5);
    const std::vector<Field> entries = fields_of(annotations[1].text, 11);
    REQUIRE(entries.size() == 2);
    CHECK(only(entries[0].text, 6).text == "float32 [2]");
    CHECK(fields_of(entries[1].text, 17).size() == 1);
    CHECK(only(annotations[2].text, 3).value == 6);
}

TEST_CASE("A name that a group already has gets a number") {
    std::string out;
    TracePackets packets(out);
    ArgumentKeys keys(packets);
    ArgumentFacts twice;
    twice.label = "buf0";
    ArgumentFacts also = twice;
    also.number = next_facts_number();
    ArgumentFacts other = also;
    other.number = next_facts_number();
    other.parameter = "in_ptr0";
    for (int group = 0; group < 2; ++group) {
        keys.begin_group();
        CHECK(keys.key_of(twice) == packets.key_id("buf0"));
        CHECK(keys.key_of(other) == packets.key_id("buf0 (in_ptr0)"));
        CHECK(keys.key_of(twice) == packets.key_id("buf0 #2"));
        CHECK(keys.key_of(also) == packets.key_id("buf0 #3"));
    }
}

}  // namespace
}  // namespace aoti_dbg::cli::trace_packets_test

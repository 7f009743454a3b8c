// events.jsonl written and read back. Rendering what was read must equal rendering at once, however the file
// ends.
#include "serializer/event_reader.hpp"

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "serializer/event_compact.hpp"
#include "serializer/event_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/event_fixture.hpp"

namespace aoti_dbg::event_reader_test {
namespace {

using namespace test;

constexpr Requested kAll = Requested::printed | Requested::indices | Requested::hash;

ByteSource source_of(const std::string& text, std::size_t piece = 1U << 20U) {
    return [text, piece, at = std::size_t{0}](char* to, std::size_t bytes) mutable {
        const std::size_t part = std::min({bytes, piece, text.size() - at});
        std::memcpy(to, text.data() + at, part);
        at += part;
        return part;
    };
}

struct Read {
    std::string text;
    std::string compact;
    std::vector<std::string> types;
    ReadNotes notes;
};

Read read(const std::string& file, std::size_t piece = 1U << 20U,
          ReadingThread thread = ReadingThread::callers) {
    Read result;
    EventReader reader(source_of(file, piece), ArgumentDetail::everything, thread);
    TextRenderer text;
    CompactRenderer compact(false);
    ReadEvent event;
    while (reader.next(event)) {
        result.types.emplace_back(event.type);
        if (event.kind != ReadEvent::Kind::call) continue;
        text.render(event.call, result.text);
        compact.render(event.call, result.compact);
    }
    result.notes = reader.notes();
    return result;
}

/// A run with everything that an event can have, as file and as text.
struct Sample {
    std::string file;
    std::string text;
    std::string compact;

    Sample() {
        const float inf = std::numeric_limits<float>::infinity();
        const float nan = std::nanf("");
        JsonlRenderer::render_header({}, file);
        JsonlRenderer::render_model({0, "/tmp/model.so", "model"}, file);
        SiteFacts site = site_of("triton_poi_fused_relu_0\x1b[2J\xff");
        site.source_nodes = {"relu"};
        site.source = "/tmp/c\"abc.wrapper.cpp";
        site.python_stack = {"File \"m.py\", line 6, in forward", "    y = x"};
        const ArgumentFacts in = label_of("arg0_1");
        const ArgumentFacts out = label_of("buf0");
        const ArgumentFacts size = label_of("s77");
        const HeldTensor floats(DType::float32, {2, 4},
                                std::vector<float>{0.1F, nan, -nan, inf, -inf, 1e-30F, 3, -0.0F});
        const HeldTensor halves(DType::float16, {6},
                                std::vector<std::uint16_t>{0x3c00, 0x0001, 0x83ff, 0xfe00, 0x7bff, 0x2e66});
        const HeldTensor brains(DType::bfloat16, {3}, std::vector<std::uint16_t>{0x3f80, 0xff80, 0x0001});
        const HeldTensor eights(DType::float8_e4m3fn, {4}, std::vector<std::uint8_t>{0x7f, 0xff, 0x01, 0xfe});
        const HeldTensor fours(DType::float4_e2m1fn_x2, {2}, std::vector<std::uint8_t>{0x71, 0x88});
        const HeldTensor doubles(DType::float64, {2}, std::vector<double>{1.0 / 3, -1e300});
        const HeldTensor pairs(DType::complex64, {2},
                               std::vector<std::complex<float>>{{1, nan}, {0.1F, inf}});
        const HeldTensor longs(DType::int64, {2}, std::vector<std::int64_t>{INT64_MIN, INT64_MAX});
        const HeldTensor bools(DType::boolean, {}, std::vector<std::uint8_t>{1});
        const HeldTensor empty(DType::float32, {0, 3}, std::vector<float>{});
        const HeldTensor large(DType::float32, {100}, std::vector<float>(100, 0.7F));
        HeldTensor strange(DType::float32, {2}, std::vector<float>{1, 2});
        strange.facts.dtype = "code 77";
        strange.facts.is_strided = false;
        strange.facts.strides.clear();
        strange.facts.is_contiguous = false;
        strange.facts.unmeasured = "its layout is not strided";
        HeldTensor address(DType::float32, {}, std::vector<float>{1});
        address.facts.sizes_known = false;
        MeasuredArgument late = large.unmeasured(out, "");
        late.measured = Measured::not_yet;
        MeasuredArgument input = halves.measured(in, kAll);
        input.measured = Measured::earlier;
        MeasuredArgument earlier = doubles.measured(in, kAll);
        earlier.measured = Measured::earlier;
        earlier.measured_at = 4;
        add(call_of(EventSide::inputs, nullptr, {floats.measured(in, kAll), bools.measured(out)}));
        add(call_of(EventSide::before, &site,
                    {input, earlier, scalar_of(size, "8\n"), brains.measured(in), eights.measured(in),
                     fours.measured(in, kAll), pairs.measured(in, kAll), longs.measured(in, kAll), late}));
        add(call_of(EventSide::after, &site,
                    {empty.measured(out, kAll), large.measured(out, Requested::findings),
                     strange.unmeasured(out, ""), address.unmeasured(in, "its size is not known")}));
        MeasuredCall name = call_of(EventSide::before, &site, {});
        name.name_only = true;
        name.nesting = 2;
        add(name);
        add(call_of(EventSide::outputs, nullptr, {large.measured(out, kAll)}));
        const std::vector<NamedCount> counts = {{"calls", 2}};
        JsonlRenderer::render_coverage(counts, file);
    }

  private:
    void add(const MeasuredCall& call) {
        jsonl_.render(call, file);
        text_.render(call, text);
        compact_.render(call, compact);
    }
    JsonlRenderer jsonl_;
    TextRenderer text_;
    CompactRenderer compact_{false};
};

TEST_CASE("Text from the file is byte for byte the text that was printed") {
    const Sample sample;
    for (const std::size_t piece : {std::size_t{1}, std::size_t{37}, std::size_t{1} << 20U}) {
        const Read back = read(sample.file, piece);
        CHECK(back.text == sample.text);
        CHECK(back.compact == sample.compact);
        CHECK(back.notes.damaged == 0);
        CHECK_FALSE(back.notes.is_cut);
        CHECK(back.types.front() == "header");
        CHECK(back.types.back() == "coverage");
    }
}

TEST_CASE("A thread that reads ahead gives the same events and notes") {
    const Sample sample;
    std::string file = sample.file + "rubbish\n";
    while (file.size() < std::size_t{4} << 20U)
        file += sample.file;
    file += sample.file.substr(0, 200);
    const Read here = read(file);
    const Read ahead = read(file, 1000, ReadingThread::own);
    CHECK(ahead.text == here.text);
    CHECK(ahead.types == here.types);
    CHECK(ahead.notes.lines == here.notes.lines);
    CHECK(ahead.notes.damaged == 1);
    CHECK(ahead.notes.first_damaged == here.notes.first_damaged);
    CHECK(ahead.notes.is_cut);
    for (const std::string& few : {std::string(), std::string("\n\n"), sample.file.substr(0, 10)})
        CHECK(read(few, 7, ReadingThread::own).notes.lines == read(few).notes.lines);
    // It stops early if the reader does.
    EventReader reader(source_of(file), ArgumentDetail::facts, ReadingThread::own);
    ReadEvent event;
    CHECK(reader.next(event));
}

TEST_CASE("A file cut anywhere gives its whole lines and reports the cut") {
    const Sample sample;
    for (std::size_t length = 0; length <= sample.file.size(); length += 7) {
        for (const std::size_t padding : {std::size_t{0}, std::size_t{5000}}) {
            const Read back = read(sample.file.substr(0, length) + std::string(padding, '\n'));
            REQUIRE(sample.text.compare(0, back.text.size(), back.text) == 0);
            REQUIRE(back.notes.damaged == 0);
            const std::string last = sample.file.substr(0, length);
            const bool is_whole = length == 0 || last.back() == '\n' || last.back() == '}';
            if (is_whole && (length == 0 || last.back() == '\n')) REQUIRE_FALSE(back.notes.is_cut);
            if (!is_whole) REQUIRE(back.notes.is_cut);
        }
    }
}

TEST_CASE("Blank lines, NUL bytes and Windows line ends do no harm") {
    const Sample sample;
    std::string file = std::string(3000, '\n') + std::string(5, '\0') + "\n";
    for (const char c : sample.file)
        file += c == '\n' ? std::string("\r\n\n") : std::string(1, c);
    CHECK(read(file + std::string(100, '\0')).text == sample.text);
}

TEST_CASE("Members and events of a later version are skipped, and events are still delivered") {
    const Sample sample;
    std::string file;
    for (const char c : sample.file) {
        file += c;
        if (c == '{') file += "\"new\":[{\"mean\":1,\"event\":\"call\"}],";
    }
    // Objects that were empty now have a member and a comma behind it.
    for (std::size_t at = file.find(",}"); at != std::string::npos; at = file.find(",}"))
        file.erase(at, 1);
    file += "{\"event\":\"finding\",\"kind\":\"nan\"}\n";
    const Read back = read(file);
    CHECK(back.text == sample.text);
    CHECK(back.types.back() == "finding");
    CHECK(back.notes.damaged == 0);
}

TEST_CASE("A newer version is noted, and another format has no events") {
    CHECK(read("{\"event\":\"header\",\"format\":\"aoti-dbg-events\",\"version\":2}\n").notes.is_newer);
    CHECK_FALSE(read("{\"event\":\"header\",\"format\":\"aoti-dbg-events\",\"version\":1}\n").notes.is_newer);
    CHECK(
        read("{\"event\":\"header\",\"format\":\"else\",\"version\":1}\n{\"event\":\"x\"}\n").notes.damaged ==
        1);
}

TEST_CASE("Damaged lines are counted, the first is named, and the others are still read") {
    const Sample sample;
    const std::size_t second = sample.file.find('\n') + 1;
    const std::string file =
        sample.file.substr(0, second) + "{\"event\":\n\nrubbish\n" + sample.file.substr(second);
    const Read back = read(file);
    CHECK(back.text == sample.text);
    CHECK(back.notes.damaged == 2);
    CHECK(back.notes.first_damaged == 2);
}

TEST_CASE("A call is readable without the definitions that it refers to") {
    const HeldTensor held(DType::int64, {2}, std::vector<std::int64_t>{1, 2});
    const SiteFacts site = site_of("kernel");
    const ArgumentFacts label = label_of("buf0");
    std::string file;
    JsonlRenderer().render(call_of(EventSide::before, &site, {held.measured(label)}), file);
    file = file.substr(file.find("{\"event\":\"call\""));
    const std::string text = read(file).text;
    CHECK(text.find("[  before_launch - kernel - buf0  ]:\n") == 0);
    CHECK(text.find("Number of elements: 2\nDtype: long int\nMean value: 1.5\n") != std::string::npos);
    CHECK(text.find("Size: [2]\n") != std::string::npos);
}

TEST_CASE("A redefined id refers to its last definition") {
    const std::string call =
        "{\"event\":\"call\",\"side\":\"before\",\"site\":1,\"arguments\":[{\"label\":\"a\",\"value\":\"1\"}]"
        "}\n";
    CHECK(read("{\"event\":\"site\",\"id\":1,\"kernel\":\"old\"}\n" + call +
               "{\"event\":\"site\",\"id\":1,\"kernel\":\"new\"}\n" + call)
              .text == "[  before_launch - old - a: 1  ]\n[  before_launch - new - a: 1  ]\n");
}

TEST_CASE("Impossible tensor sizes count as unknown") {
    for (const char* sizes : {"[4294967296,4294967296,2]", "[-1]", "[9223372036854775807,3]"}) {
        const std::string text =
            read(
                "{\"event\":\"call\",\"side\":\"after\",\"kernel\":\"k\",\"arguments\":[{\"label\":\"a\","
                "\"dtype\":\"float32\",\"sizes\":" +
                std::string(sizes) + ",\"mean\":1,\"values\":[1]}]}\n")
                .text;
        CHECK(text.find("Size: unknown\n") != std::string::npos);
    }
}

TEST_CASE("Values that contradict the tensor's facts are left out") {
    const auto text = [](const char* values) {
        return read(
                   "{\"event\":\"call\",\"side\":\"after\",\"kernel\":\"k\",\"arguments\":[{\"label\":\"a\","
                   "\"dtype\":\"int8\",\"sizes\":[2],\"values\":" +
                   std::string(values) + "}]}\n")
            .text;
    };
    CHECK(text("[1,2]").find("CharType") != std::string::npos);
    for (const char* values :
         {"[1]", "[1,2,3]", "[1,200]", "[1,null]", "[1,\"x\"]", "7", "{\"a\":1}", "[1,1.5]"})
        CHECK(text(values).find("CharType") == std::string::npos);
}

TEST_CASE("A line longer than any of ours is skipped without being kept") {
    const Sample sample;
    const std::string long_line =
        "{\"event\":\"x\",\"y\":\"" + std::string(LineSource::kLongestLine + 5, 'y');
    CHECK(read(long_line + "\"}\n" + sample.file).text == sample.text);
    CHECK(read(long_line + "\"}\n" + sample.file).notes.first_damaged == 1);
    CHECK(read(sample.file + long_line).notes.is_cut);
}

TEST_CASE("Endless nesting is not JSON of ours") {
    for (const char* opening : {"[", "{\"a\":"}) {
        std::string line = "{\"event\":\"x\",\"y\":";
        for (int i = 0; i < 100000; ++i)
            line += opening;
        CHECK(read(line + "\n{\"event\":\"z\"}\n").notes.damaged == 1);
    }
}

TEST_CASE("Statistics survive a round trip, with what was requested of them") {
    const HeldTensor held(DType::int32, {3}, std::vector<std::int32_t>{-5, 0, 7});
    const SiteFacts site = site_of("kernel");
    ArgumentFacts label = label_of("buf0");
    label.role = Role::updates;
    label.position = 3;
    label.parameter = "in_out_ptr0";
    MeasuredArgument written = held.measured(label, kAll | Requested::findings);
    written.address = 0xabcdef;
    std::string file;
    JsonlRenderer().render(call_of(EventSide::after, &site, {written}), file);
    EventReader reader(source_of(file));
    ReadEvent event;
    do {
        REQUIRE(reader.next(event));
    } while (event.kind != ReadEvent::Kind::call);
    const MeasuredArgument& argument = event.call.arguments[0];
    const RealStatistics& real = argument.statistics.real;
    const RealStatistics& expected = written.statistics.real;
    CHECK(argument.statistics.requested == written.statistics.requested);
    CHECK(argument.statistics.count == 3);
    CHECK(argument.statistics.hash == written.statistics.hash);
    CHECK(argument.address == 0xabcdef);
    CHECK(argument.facts->role == Role::updates);
    CHECK(argument.facts->position == 3);
    CHECK(argument.facts->parameter == "in_out_ptr0");
    CHECK(real.all.minimum.signed_integer == -5);
    CHECK(real.all.maximum.signed_integer == 7);
    CHECK(real.all.mean == expected.all.mean);
    CHECK(real.finite.count == 3);
    CHECK(real.minimum_index == 0);
    CHECK(real.maximum_index == 2);
    CHECK(real.zeros == 1);
    CHECK(real.sum_low == 2);
    CHECK(real.sum_high == 0);
    CHECK(argument.tensor->strides == std::vector<std::int64_t>{1});
    CHECK(event.call.run == 3);
    CHECK(event.call.call == 12);
}

}  // namespace
}  // namespace aoti_dbg::event_reader_test

// Feeds damaged files to the reader of events, and its results to the renderers: files cut, repeated, mixed
// and altered with fixed random numbers. Meant for the sanitizer builds; other builds still check what must
// hold for any result.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "serializer/event_compact.hpp"
#include "serializer/event_reader.hpp"
#include "serializer/event_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"
#include "tests/unit/event_fixture.hpp"

namespace aoti_dbg::event_reader_fuzz_test {
namespace {

using namespace test;

constexpr int kRounds = 8000;
constexpr std::size_t kLongest = 8192;

std::string seed() {
    const float inf = std::numeric_limits<float>::infinity();
    std::string file;
    JsonlRenderer::render_header({}, file);
    JsonlRenderer::render_model({0, "/tmp/model.so", "model"}, file);
    const SiteFacts site = site_of("triton_\"relu\"_0\n");
    const ArgumentFacts label = label_of("buf0");
    const HeldTensor floats(DType::float32, {2, 2, 2},
                            std::vector<float>{0.1F, std::nanf(""), inf, -inf, 1, 2, 3, 4});
    const HeldTensor bytes(DType::float8_e5m2, {3}, std::vector<std::uint8_t>{1, 0xff, 0x7c});
    const HeldTensor longs(DType::uint64, {1, 1}, std::vector<std::uint64_t>{~std::uint64_t{0}});
    const HeldTensor pairs(DType::complex128, {1}, std::vector<double>{0.5, -1});
    const Requested all = Requested::printed | Requested::indices | Requested::hash;
    MeasuredArgument earlier = longs.measured(label, all);
    earlier.measured = Measured::earlier;
    earlier.measured_at = 2;
    const std::vector<MeasuredArgument> arguments = {
        floats.measured(label, all), bytes.measured(label, all), earlier,
        pairs.measured(label, all),  scalar_of(label, "3.5"),    longs.unmeasured(label, "busy")};
    JsonlRenderer renderer;
    renderer.render(call_of(EventSide::before, &site, arguments), file);
    renderer.render(call_of(EventSide::outputs, nullptr, arguments), file);
    const std::vector<NamedCount> counts = {{"calls", 2}};
    JsonlRenderer::render_coverage(counts, file);
    return file;
}

void damage(std::string& text, const std::string& whole, Random& random) {
    static constexpr std::string_view kSpice = "\"\\{}[]:,-+.e0123456789u\n\r\0\xff truefalsnlNI";
    const std::size_t place = random.below(text.size() + 1);
    const auto stretch = [&] {
        const std::size_t start = random.below(whole.size());
        return whole.substr(start, 1 + random.below(300));
    };
    switch (random.below(6)) {
        case 0:
            text.insert(place, 1, kSpice[random.below(kSpice.size())]);
            break;
        case 1:
            text.insert(place, stretch());
            break;
        case 2:
            text.erase(place, 1 + random.below(8));
            break;
        case 3:
            if (random.below(8) == 0) text.resize(place);
            break;
        case 4: {
            // Lengths and sizes consist of digits.
            const std::size_t digit = text.find_first_of("0123456789", place);
            if (digit != std::string::npos) text[digit] = static_cast<char>('0' + random.below(10));
            break;
        }
        default:
            if (place < text.size()) text[place] = static_cast<char>(random.below(256));
    }
    if (text.size() > kLongest) text.resize(kLongest);
}

TEST_CASE("Damaged files are read without harm, and the results can be rendered") {
    Random random;
    const std::string whole = seed();
    std::string file;
    for (int round = 0; round < kRounds; ++round) {
        if (round % 16 == 0) file = whole;
        damage(file, whole, random);
        CAPTURE(file);
        EventReader reader([&file, at = std::size_t{0}](char* to, std::size_t bytes) mutable {
            const std::size_t part = std::min(bytes, file.size() - at);
            std::memcpy(to, file.data() + at, part);
            at += part;
            return part;
        });
        TextRenderer text;
        CompactRenderer compact(true);
        JsonlRenderer jsonl;
        ReadEvent event;
        std::size_t events = 0;
        while (reader.next(event)) {
            REQUIRE(++events <= file.size());
            REQUIRE_FALSE(event.line.empty());
            if (event.kind != ReadEvent::Kind::call) continue;
            std::string out;
            text.render(event.call, out);
            compact.render(event.call, out);
            jsonl.render(event.call, out);
            REQUIRE(out.size() <= 100 * (file.size() + 1000));
        }
        REQUIRE(reader.notes().lines >= events);
    }
}

}  // namespace
}  // namespace aoti_dbg::event_reader_fuzz_test

// Measures `aoti-dbg diff` without its output: how fast two recordings with the same events are compared, and
// how much of that is reading. The recordings are in memory. It asserts nothing.
//   diff_bench EVENTS
#include <sys/resource.h>

#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bench/event_run.hpp"
#include "bench/timing.hpp"
#include "compare/comparison.hpp"
#include "serializer/event_jsonl.hpp"

namespace {

using namespace aoti_dbg;

constexpr std::uint32_t kRuns = 50;
constexpr std::uint64_t kEventsOfRun = bench::kSides + 2;

/// Some runs, each with inputs and outputs.
struct Text {
    std::string start;  // with the definitions
    std::string runs;
};

Text rendered() {
    Text text;
    JsonlRenderer renderer;
    JsonlRenderer::render_header({}, text.start);
    JsonlRenderer::render_model({0, "/tmp/model.so", "model"}, text.start);
    bench::Run run;
    for (std::uint32_t number = 0; number <= kRuns; ++number) {
        std::string& to = number == 0 ? text.start : text.runs;
        MeasuredCall end;
        end.model = 0;
        end.run = number;
        end.side = EventSide::inputs;
        renderer.render(end, to);
        run.render([&](MeasuredCall call) {
            call.run = number;
            renderer.render(call, to);
        });
        end.side = EventSide::outputs;
        renderer.render(end, to);
    }
    return text;
}

/// Reads the runs again and again.
ByteSource source_of(const Text& text, std::uint64_t repeats) {
    return [&text, repeats, part = &text.start, at = std::size_t{0}](char* to, std::size_t bytes) mutable {
        if (at == part->size() && repeats > 0) {
            part = &text.runs;
            at = 0;
            --repeats;
        }
        const std::size_t count = std::min(bytes, part->size() - at);
        std::memcpy(to, part->data() + at, count);
        at += count;
        return count;
    };
}

double seconds_since(bench::Clock::time_point start) {
    return bench::nanoseconds_since(start) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const Text text = rendered();
    const std::uint64_t repeats =
        std::max<std::uint64_t>(1, std::strtoull(argv[1], nullptr, 10) / kRuns / kEventsOfRun);
    const std::uint64_t events = (repeats * kRuns + 1) * kEventsOfRun;
    const double megabytes = static_cast<double>(text.start.size() + repeats * text.runs.size()) * 1e-6;

    bench::Clock::time_point start = bench::Clock::now();
    EventReader reader(source_of(text, repeats));
    ReadEvent event;
    while (reader.next(event)) {
    }
    const double read = seconds_since(start);

    start = bench::Clock::now();
    compare::RunReader first(source_of(text, repeats));
    compare::RunReader second(source_of(text, repeats));
    const compare::Comparison comparison = compare::compare_recordings(first, second, {});
    const double compared = seconds_since(start);

    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto rate = [&](double took) { return static_cast<double>(events) / took * 1e-6; };
    std::printf("%" PRIu64 " events, %.0f MB\n", events, megabytes);
    std::printf("reading one recording:   %6.3f million events a second, %.0f MB/s\n", rate(read),
                megabytes / read);
    std::printf("comparing two of them:   %6.3f million events a second (both count), %.2f of reading both\n",
                2 * rate(compared), compared / (2 * read));
    std::printf("memory: %ld MB, %.0f of them the recording\n", usage.ru_maxrss / 1024,
                static_cast<double>(text.start.size() + text.runs.size()) * 1e-6);
    return comparison.is_different() ? 1 : 0;
}

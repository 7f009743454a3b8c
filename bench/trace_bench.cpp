// Measures `aoti-dbg trace`: how fast a recording becomes a trace, how much of that is reading, and the peak
// memory. It writes both to a temporary folder: about 1.6 GB for a million calls. It asserts nothing.
//   trace_bench CALLS [FOLDER]    keeps both in an existing folder
#include <sys/resource.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "bench/event_run.hpp"
#include "bench/timing.hpp"
#include "cli/recorded_file.hpp"
#include "cli/trace/trace.hpp"
#include "serializer/event_jsonl.hpp"

namespace {

using namespace aoti_dbg;

/// Writes calls with the statistics that level 2 records by default.
void write_recording(const std::string& path, std::uint64_t calls) {
    std::ofstream file(path, std::ios::binary);
    std::string text;
    JsonlRenderer renderer;
    JsonlRenderer::render_header({}, text);
    JsonlRenderer::render_model({0, "/tmp/model.so", "model"}, text);
    bench::Run run;
    run.measure_printed();
    const std::uint64_t runs = std::max<std::uint64_t>(1, calls / (bench::kSides / 2));
    for (std::uint32_t number = 0; number < runs; ++number) {
        MeasuredCall end;
        end.model = 0;
        end.run = number;
        end.thread = 12345;
        end.side = EventSide::inputs;
        run.render([&](MeasuredCall call) {
            if (end.side == EventSide::inputs) {
                end.time_ns = call.time_ns - 1000;
                renderer.render(end, text);
                end.side = EventSide::outputs;
            }
            call.run = number;
            call.sequence = call.sequence / 2 + 1;
            end.time_ns = call.time_ns + 1000;
            renderer.render(call, text);
        });
        renderer.render(end, text);
        file << text;
        text.clear();
    }
}

/// Time of the processor and of the clock, so a busy machine shows.
struct Times {
    double processor = 0;
    double own = 0;  // of the processor, for this thread
    double clock = 0;
};

template <typename Work>
Times times_of(Work work) {
    const auto processor = [](int who) {
        rusage usage{};
        getrusage(who, &usage);
        return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    };
    const double before = processor(RUSAGE_SELF);
    const double own_before = processor(RUSAGE_THREAD);
    const bench::Clock::time_point start = bench::Clock::now();
    work();
    const double clock = bench::nanoseconds_since(start) * 1e-9;
    return {processor(RUSAGE_SELF) - before, processor(RUSAGE_THREAD) - own_before, clock};
}

void read_all(const std::string& path, ArgumentDetail detail) {
    cli::RecordedFile file(path.c_str());
    EventReader reader([&](char* to, std::size_t bytes) { return file.read(to, bytes); }, detail);
    ReadEvent event;
    while (reader.next(event)) {
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) return 2;
    const std::uint64_t calls = std::strtoull(argv[1], nullptr, 10);
    std::string folder = (std::filesystem::temp_directory_path() / "trace_bench-XXXXXX").string();
    if (argc == 3) folder = argv[2];
    if (argc == 2 && mkdtemp(folder.data()) == nullptr) return 1;
    const std::string events = folder + "/events.jsonl";
    write_recording(events, calls);
    const auto megabytes = [](const std::string& path) {
        return static_cast<double>(std::filesystem::file_size(path)) * 1e-6;
    };
    std::printf("%" PRIu64 " calls, %.0f MB\n", calls, megabytes(events));
    // Each part alone: the trace reads in a thread of its own. On free cores, its busier thread is the limit.
    const auto print = [&](const char* what, const Times& times) {
        const double busier = std::max(times.own, times.processor - times.own);
        std::printf(
            "%-28s %8.0f calls a second, %.0f per second of processor time, %.0f of its busier thread\n",
            what, static_cast<double>(calls) / times.clock, static_cast<double>(calls) / times.processor,
            static_cast<double>(calls) / busier);
    };
    print("reading everything:", times_of([&] { read_all(events, ArgumentDetail::everything); }));
    print("reading for the trace:", times_of([&] { read_all(events, ArgumentDetail::facts); }));
    cli::NewFile file(folder + "/trace.pftrace", false);
    cli::TraceCounts counts;
    bool is_written = file.open().ok();
    print("writing the trace:", times_of([&] {
              is_written =
                  is_written && cli::write_trace({{folder, 0, events, {}, {}}}, nullptr, file, counts).ok();
          }));
    const Result<std::string> path = file.finish();
    if (!is_written || !path.ok()) return 1;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("trace: %.0f MB, %" PRIu64 " calls; peak memory %ld MB\n", megabytes(path.value()),
                counts.calls, usage.ru_maxrss / 1024);
    if (argc == 2) std::filesystem::remove_all(folder);
    return 0;
}

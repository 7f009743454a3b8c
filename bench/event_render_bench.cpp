// Measures the cost of one tensor argument, in nanoseconds on one thread: rendering alone, for each format,
// and rendering with the library's copy into growing files. It asserts nothing.
//   event_render_bench text|compact|jsonl|both|output ROUNDS      output: jsonl and text, into files in
//   $TMPDIR
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "bench/event_run.hpp"
#include "bench/timing.hpp"
#include "serializer/event_compact.hpp"
#include "serializer/event_jsonl.hpp"
#include "serializer/event_text.hpp"
#include "shim/record/event_log.hpp"
#include "shim/record/event_output.hpp"
#include "shim/record/line_log.hpp"

namespace {

using namespace aoti_dbg;
using bench::kArguments;
using bench::kSides;
using bench::Run;

template <typename Renderer>
void measure_renderer(Renderer renderer, int rounds) {
    Run run;
    std::string text;
    const double took = bench::median_of_rounds(rounds, kSides * kArguments, [&] {
        run.render([&](const MeasuredCall& call) {
            text.clear();
            renderer.render(call, text);
        });
    });
    bench::report(took);
}

/// Both formats of level 2, which share the digits of numbers.
class BothRenderers {
  public:
    void render(const MeasuredCall& call, std::string& out) {
        jsonl_.render(call, out);
        text_.render(call, out);
    }

  private:
    std::shared_ptr<StatisticsTexts> statistics_ = std::make_shared<StatisticsTexts>();
    JsonlRenderer jsonl_{statistics_};
    TextRenderer text_{statistics_};
};

int measure_output(int rounds) {
    std::string folder = (std::filesystem::temp_directory_path() / "event-bench-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return 1;
    {
        Result<std::unique_ptr<EventLog>> events = EventLog::create(folder);
        Result<std::unique_ptr<LineLog>> log = LineLog::open(folder + "/log");
        if (!events.ok() || !log.ok()) return 1;
        EventOutput output(events.value().get(), log.value().get(), OutputFormat::text, false);
        Run run;
        bench::report(bench::median_of_rounds(rounds, kSides * kArguments, [&] {
            run.render([&](const MeasuredCall& call) { output.call(call); });
        }));
        events.value()->close();
        log.value()->close();
        std::printf("bytes a tensor: events %.0f, text %.0f\n",
                    static_cast<double>(std::filesystem::file_size(folder + "/events.jsonl")) /
                        (kSides * kArguments) / (rounds + 1),
                    static_cast<double>(std::filesystem::file_size(folder + "/log")) / (kSides * kArguments) /
                        (rounds + 1));
    }
    std::filesystem::remove_all(folder);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const int rounds = std::max(1, std::atoi(argv[2]));
    const std::string what = argv[1];
    if (what == "both") measure_renderer(BothRenderers(), rounds);
    if (what == "text") measure_renderer(TextRenderer(), rounds);
    if (what == "compact") measure_renderer(CompactRenderer(false), rounds);
    if (what == "jsonl") measure_renderer(JsonlRenderer(), rounds);
    return what == "output" ? measure_output(rounds) : 0;
}

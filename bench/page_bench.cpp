// Measures `aoti-dbg report --html` without its output: how fast a recording is read and rendered, and the
// memory that this takes. It writes the recording into a new folder and leaves it there. It asserts nothing.
//   page_bench FOLDER RUNS CALLS
#include <sys/resource.h>

#include <cinttypes>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>

#include "bench/event_run.hpp"
#include "bench/timing.hpp"
#include "cli/page/page_json.hpp"
#include "cli/page/read_page.hpp"
#include "serializer/event_jsonl.hpp"

namespace {

using namespace aoti_dbg;

constexpr std::size_t kArguments = 3;  // two that the call reads, and one that it writes

/// Calls that read what the two before them wrote.
class Model {
  public:
    explicit Model(std::uint32_t calls) {
        for (std::uint32_t call = 0; call < calls; ++call) {
            SiteFacts& site = sites_.emplace_back();
            site.kernel = "triton_per_fused_add_native_layer_norm_" + std::to_string(call % 100);
            site.kind = "triton";
            site.line = 100 + 7 * call;
            site.original_aten = {"aten.add", "aten.native_layer_norm"};
            for (std::uint32_t i = 0; i < kArguments; ++i) {
                ArgumentFacts& facts = arguments_.emplace_back();
                facts.label = "buf" + std::to_string(i == 2 ? call + 2 : call + i);
                facts.parameter = i == 2 ? "out_ptr0" : "in_ptr" + std::to_string(i);
                facts.position = i;
                facts.role = i == 2 ? Role::writes : Role::reads;
            }
        }
        tensor_.dtype = "float16";
        tensor_.measured_dtype = DType::float16;
        tensor_.device = "cuda:0";
        tensor_.sizes = {4, 128, 512};
        tensor_.strides = {65536, 512, 1};
    }

    void write_run(std::uint32_t run, JsonlRenderer& renderer, std::string& out) {
        for (std::uint32_t number = 0; number < sites_.size(); ++number) {
            MeasuredCall call;
            call.site = &sites_[number];
            call.sequence = ++sequence_;
            call.time_ns = 1'790'000'000'000'000'000U + call.sequence * 6000;
            call.thread = 12345;
            call.model = 0;
            call.run = run;
            call.call = number;
            const MeasuredArgument all[] = {argument(number, 0), argument(number, 1), argument(number, 2)};
            call.arguments = {all, 2};
            renderer.render(call, out);
            call.side = EventSide::after;
            call.time_ns += 4000;
            call.arguments = {all + 2, 1};
            renderer.render(call, out);
        }
    }

  private:
    MeasuredArgument argument(std::uint32_t call, std::uint32_t i) {
        MeasuredArgument argument;
        argument.facts = &arguments_[call * kArguments + i];
        argument.tensor = &tensor_;
        argument.address = 0x7f0000000000U + (call + i) % 7 * std::uint64_t{524288};
        argument.measured = i == 2 ? Measured::now : Measured::earlier;
        if (i != 2) argument.measured_at = call == 0 ? kNoCallNumber : call - 1;
        TensorStatistics& statistics = argument.statistics;
        statistics.dtype = DType::float16;
        statistics.requested = Requested::printed;
        statistics.count = std::uint64_t{4} * 128 * 512;
        statistics.real.all.count = statistics.count;
        statistics.real.all.mean = random_.real() * 0.01;
        statistics.real.all.standard_deviation = random_.real() + 2;
        statistics.real.all.minimum.floating = static_cast<double>(static_cast<float>(random_.real() - 4));
        statistics.real.all.maximum.floating = static_cast<double>(static_cast<float>(random_.real() + 4));
        return argument;
    }

    std::deque<SiteFacts> sites_;
    std::deque<ArgumentFacts> arguments_;
    TensorFacts tensor_;
    std::uint64_t sequence_ = 0;
    bench::Random random_;
};

void write_recording(const std::filesystem::path& folder, std::uint32_t runs, std::uint32_t calls) {
    std::filesystem::create_directories(folder);
    std::ofstream file(folder / "events.jsonl", std::ios::binary);
    JsonlRenderer renderer;
    std::string text;
    JsonlRenderer::render_header(
        {1, 4242, "python infer.py", "node7", "", 1'790'000'000'000'000'000U, "0.1.0"}, text);
    JsonlRenderer::render_model({0, "/tmp/model.so", "model"}, text);
    Model model(calls);
    for (std::uint32_t run = 0; run < runs; ++run) {
        model.write_run(run, renderer, text);
        file << text;
        text.clear();
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const auto runs = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
    const auto calls = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
    if (!std::filesystem::exists(argv[1])) {
        write_recording(argv[1], runs, calls);
        std::printf("wrote %s. Run it again to measure.\n", argv[1]);
        return 0;
    }
    const bench::Clock::time_point start = bench::Clock::now();
    Result<cli::Page> page = cli::read_page({argv[1], argv[1]});
    if (!page.ok()) return 1;
    const double read = bench::nanoseconds_since(start) * 1e-9;
    const std::string json = cli::page_json(page.value(), 4'800'000);
    const double took = bench::nanoseconds_since(start) * 1e-9;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const double all = static_cast<double>(runs) * calls;
    std::printf("%.0f calls: read at %.0f a second, in all %.0f a second; page %.2f MB, memory %ld MB\n", all,
                all / read, all / took, static_cast<double>(json.size()) * 1e-6, usage.ru_maxrss / 1024);
    for (const std::string& text : page.value().left_out)
        std::printf("left out: %s\n", text.c_str());
}

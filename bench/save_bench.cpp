// Measures level 1's host side on a directory's file system: threads write tensors from memory, timed until
// all of them are on disk.
//   save_bench <folder> <bytes of a tensor> <tensors> <threads> [equal]
//   save_bench <folder> <sizes> <threads>
// With `equal`, all tensors have the same contents, which level 1 links. `sizes` is a file with the size of a
// `.pt` file in each line, as for file_bench. Prints GB/s and files/s until the files exist, and until the
// file system has written them out.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "bench/timing.hpp"
#include "shim/save/tensor_writers.hpp"

using namespace aoti_dbg;

namespace {

// As with staging, data arrives in pieces of this size, and this much at most is in flight.
constexpr std::size_t kChunk = std::size_t{16} << 20U;
constexpr std::size_t kMostInFlight = 8 * kChunk;
// What a `.pt` file of a vector contains besides its numbers.
constexpr std::size_t kFrame = 1600;

std::mutex g_mutex;
std::condition_variable g_came_back;
std::size_t g_in_flight = 0;

void come_back(void* bytes) {
    const std::lock_guard lock(g_mutex);
    g_in_flight -= reinterpret_cast<std::size_t>(bytes);
    g_came_back.notify_one();
}

TensorChunk in_flight(std::span<const std::byte> bytes) {
    std::unique_lock lock(g_mutex);
    g_came_back.wait(lock, [] { return g_in_flight < kMostInFlight; });
    g_in_flight += bytes.size();
    return {bytes, come_back, reinterpret_cast<void*>(bytes.size())};
}

std::vector<std::size_t> read_sizes(const char* path) {
    std::vector<std::size_t> sizes;
    if (std::FILE* const file = std::fopen(path, "re")) {
        std::size_t size = 0;
        while (std::fscanf(file, "%zu", &size) == 1)
            sizes.push_back(size - std::min(size, kFrame));
        std::fclose(file);
    }
    return sizes;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    const std::vector<std::size_t> tensors =
        argc == 4 ? read_sizes(argv[2])
                  : std::vector<std::size_t>(std::strtoull(argv[3], nullptr, 10),
                                             std::strtoull(argv[2], nullptr, 10));
    if (tensors.empty()) return 2;
    const bool equal = argc > 5 && std::strcmp(argv[5], "equal") == 0;
    SavingSettings settings;
    settings.place.out = argv[1];
    const Result<TensorWriters*> made =
        TensorWriters::start(settings, static_cast<std::uint32_t>(std::atoi(argv[argc == 4 ? 3 : 4])));
    if (!made.ok()) {
        std::fprintf(stderr, "save_bench: %s\n", made.status().message().c_str());
        return 1;
    }
    TensorWriters& writers = *made.value();
    const std::size_t largest = *std::max_element(tensors.begin(), tensors.end());
    const std::vector<std::byte> content(std::min(largest, kChunk), std::byte{0x5A});
    double all = 0;
    const bench::Clock::time_point start = bench::Clock::now();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const std::size_t bytes = tensors[i];
        const std::int64_t sizes[] = {static_cast<std::int64_t>(bytes)};
        const std::int64_t strides[] = {1};
        all += static_cast<double>(bytes);
        TensorToSave what;
        what.place = {
            EventSide::before, 0, static_cast<std::uint32_t>(i / 8), 0, "triton_poi_fused_0", "buf0",
            "cuda:0"};
        what.tensor = {DType::uint8, sizes, strides, 0, bytes, "cuda:0"};
        SavingJob* const job = writers.open(what);
        if (job == nullptr) return 1;
        const SavedFacts facts{BytesHash{1, equal ? 0 : i}, std::nullopt};
        if (bytes <= kChunk) {
            writers.hand_over(job, facts, 0, in_flight(std::span(content).first(bytes)));
            continue;
        }
        writers.expect(job, facts);
        for (std::size_t at = 0; at < bytes; at += kChunk)
            writers.append(job, in_flight(std::span(content).first(std::min(kChunk, bytes - at))));
        writers.close(job, facts);
    }
    if (!writers.finish(600000)) return 1;
    const double named = bench::nanoseconds_since(start);
    const int folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || syncfs(folder) != 0) return 1;
    const double synced = bench::nanoseconds_since(start);
    close(folder);
    std::printf("%zu tensors of %.1f MB: named %.2f GB/s, %.0f files/s, %.3f s; on disk %.2f GB/s, %.3f s\n",
                tensors.size(), all / 1e6, all / named, static_cast<double>(tensors.size()) * 1e9 / named,
                named / 1e9, all / synced, synced / 1e9);
    return 0;
}

// Tests the save kernel on a real GPU, through the driver alone: bytes of every size and alignment, many jobs
// per launch, on two streams at once. When a block's line arrives, the bytes must be there, the hash must
// match the host's, and no other memory may change. Exits with 1 after differences and with 2 if it cannot
// run.
//   save_victim [SEED [ROUNDS]]     fewer rounds suit slow tools
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "stats_kernels/save_job.hpp"
#include "tests/gpu/stats_device.hpp"
#include "tests/support/random.hpp"

// This file has no device code, so a C++ compiler with cuda.h can build it too:
//   LIBRARY=build/dev/stats_kernels/libaoti_dbg_stats_kernels.a
//   nvcc -std=c++20 -O2 -I . -o save_victim tests/gpu/save_victim.cu $LIBRARY -ldl
namespace {

using namespace aoti_dbg;
using namespace stats_device;

constexpr std::byte kUntouched{0xa5};
constexpr std::size_t kGuard = 256;
constexpr std::size_t kRoom = std::size_t{64} << 20U;

int g_faults = 0;
int g_checked = 0;

void fault(const std::string& what, std::uint64_t bytes, std::uint64_t shift) {
    if (++g_faults > 20) return;
    std::printf("DIFFERS: %s: %llu bytes, %llu behind a multiple of 256\n", what.c_str(),
                static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(shift));
}

/// Bytes on the device, and the bytes that must arrive.
struct Sample {
    Sample(std::uint64_t bytes, std::uint64_t shift_, Random& random)
        : content(bytes), shift(shift_), memory(bytes + shift_ + 16) {
        for (std::size_t at = 0; at < bytes; at += 8) {
            const std::uint64_t bits = random.bits();
            std::memcpy(&content[at], &bits, std::min<std::size_t>(8, bytes - at));
        }
        memory.clear(bytes + shift + 16);
        STATS_DRIVER(cuMemcpyHtoD, memory.address() + shift, content.data(), bytes);
    }
    std::vector<std::byte> content;
    std::uint64_t shift;
    DeviceMemory memory;
};

/// A part of a sample that is being saved.
struct Part {
    const Sample* sample = nullptr;
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    bool is_copied = true;
    std::uint32_t blocks = 0;
    std::size_t lines = 0;  // index of its lines
    std::size_t to = 0;     // offset of its bytes
};

class Bench {
  public:
    explicit Bench(const Device& device) : device_(device), lines_(1U << 16U), host_(kRoom) {
        std::fill(host_.all().begin(), host_.all().end(), kUntouched);
        for (CUstream& stream : streams_)
            STATS_DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    }

    /// Returns false if the launch is full.
    bool add(Part part, Random& random) {
        part.blocks = random.below(2) == 0
                          ? blocks_to_save(part.bytes, part.is_copied, device_.limits())
                          : 1 + static_cast<std::uint32_t>(random.below(random.below(4) == 0 ? 300 : 5));
        part.lines = used_lines_;
        part.to = (used_ + kGuard + 15) / 16 * 16;
        if (part.to + part.bytes + kGuard > kRoom || part.lines + part.blocks > lines_.all().size())
            return false;
        SaveJob job;
        job.data = part.sample->memory.address() + part.sample->shift + part.begin;
        job.bytes = part.bytes;
        job.first_group = part.begin / kHashGroupBytes;
        job.to = part.is_copied ? host_.address(part.to) : 0;
        job.lines = lines_.address(part.lines);
        job.blocks = part.blocks;
        if (!add_save_job(launch_, job)) return false;
        used_lines_ += part.blocks;
        used_ = part.to + part.bytes;
        parts_.push_back(part);
        return true;
    }

    /// Launches the added parts and checks each when it arrives.
    void check() {
        launch_.sequence = ++sequence_;
        device_.launch(launch_, streams_[sequence_ % 2]);
        for (const Part& part : parts_)
            check(part);
        check_guards();
        std::fill(host_.all().begin(), host_.all().begin() + static_cast<std::ptrdiff_t>(used_ + kGuard),
                  kUntouched);
        parts_.clear();
        launch_.jobs = launch_.blocks = 0;
        used_ = used_lines_ = 0;
    }

  private:
    void check(const Part& part) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        Arrived arrived;
        while (!look_for_blocks(&lines_[part.lines], part.blocks, sequence_, arrived)) {
            if (std::chrono::steady_clock::now() < deadline) continue;
            STATS_DRIVER(cuCtxSynchronize);
            fail("no result after 20 seconds", static_cast<int>(sequence_));
        }
        const std::span<const std::byte> expected =
            std::span(part.sample->content).subspan(part.begin, part.bytes);
        BytesHash hash;
        add_bytes(hash, expected, part.begin / kHashGroupBytes);
        if (!(hash == arrived.sum)) fault("the hash", part.bytes, part.sample->shift);
        const std::span<const std::byte> got = host_.all().subspan(part.to, part.bytes);
        const bool is_right = part.is_copied ? std::equal(got.begin(), got.end(), expected.begin())
                                             : std::all_of(got.begin(), got.end(),
                                                           [](std::byte byte) { return byte == kUntouched; });
        if (!is_right)
            fault(part.is_copied ? "the bytes" : "bytes that were only to be hashed", part.bytes,
                  part.sample->shift);
        ++g_checked;
    }

    void check_guards() {
        std::size_t from = 0;
        for (const Part& part : parts_) {
            check_guard(from, part.to, part);
            from = part.to + part.bytes;
        }
        if (!parts_.empty()) check_guard(from, from + kGuard, parts_.back());
    }
    void check_guard(std::size_t from, std::size_t to, const Part& part) {
        const auto bytes = host_.all().subspan(from, to - from);
        if (!std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == kUntouched; }))
            fault("bytes beside it", part.bytes, part.sample->shift);
    }

    const Device& device_;
    Mapped<ResultLine> lines_;
    Mapped<std::byte> host_;
    CUstream streams_[2] = {};
    SaveLaunch launch_;
    std::vector<Part> parts_;
    std::size_t used_ = 0;
    std::size_t used_lines_ = 0;
    std::uint32_t sequence_ = 0;
};

std::uint64_t random_size(Random& random) {
    const std::uint64_t most[] = {16, 64, 4096, 70'000, 3'000'000};
    return 1 + random.below(most[random.below(std::size(most))]);
}

/// Launches a random number of jobs.
void check_at_random(const Device& device, int rounds, Random& random) {
    Bench bench(device);
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::unique_ptr<Sample>> samples;
        for (std::uint64_t jobs = 1 + random.below(kMostSaveJobs + 2); jobs > 0; --jobs) {
            samples.push_back(std::make_unique<Sample>(random_size(random), random.below(18), random));
            if (!bench.add({samples.back().get(), 0, samples.back()->content.size(), random.below(4) != 0},
                           random))
                break;
        }
        STATS_DRIVER(cuCtxSynchronize);
        bench.check();
    }
}

/// Saves a large sample in parts. The sums of the parts must add up to the hash of the whole.
void check_parts(const Device& device, std::uint64_t bytes, Random& random) {
    Bench bench(device);
    const Sample sample(bytes, 0, random);
    STATS_DRIVER(cuCtxSynchronize);
    constexpr std::uint64_t kPart = std::uint64_t{16} << 20U;
    bench.add({&sample, 0, bytes, false}, random);
    for (std::uint64_t begin = 0; begin < bytes; begin += kPart) {
        const Part part{&sample, begin, std::min(kPart, bytes - begin)};
        if (bench.add(part, random)) continue;
        bench.check();
        bench.add(part, random);
    }
    bench.check();
}

}  // namespace

int main(int argc, char** argv) {
    const Device device(save_code());
    Random random(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 60;
    check_at_random(device, rounds, random);
    check_parts(device, argc > 2 ? 50'000'001 : 700'000'005, random);
    std::printf("%s: %d parts checked, %d differ\n", g_faults == 0 ? "ok" : "FAILED", g_checked, g_faults);
    return g_faults == 0 ? 0 : 1;
}

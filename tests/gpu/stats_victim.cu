// Tests the statistics kernel on a real GPU, through the driver alone, against the CPU implementation and the
// naive judge: dtypes, layouts and contents on random grids, two streams at once, and a billion floats far
// from zero. Exits with 1 after differences and with 2 if it cannot run.
//   stats_victim [SEED [ROUNDS]]     ROUNDS instead of 45, and no large tensors, suits slow tools
#include "tests/gpu/stats_device.hpp"

#include <memory>

#include "stats_kernels/cpu_statistics.hpp"
#include "tests/unit/stats_judge.hpp"

// This file has no device code, so nvcc and a C++ compiler with cuda.h can build it:
//   LIBRARY=build/dev/stats_kernels/libaoti_dbg_stats_kernels.a
//   nvcc -std=c++20 -O2 -I . -o stats_victim tests/gpu/stats_victim.cu $LIBRARY -ldl
//   g++ -std=c++20 -O2 -pthread -I . -I <folder of cuda.h> -x c++ tests/gpu/stats_victim.cu \
//       -x none $LIBRARY -ldl
namespace {

using namespace aoti_dbg;
using namespace stats_fixture;
using namespace stats_device;

/// For the mean in units of the mean of |x|, and for the standard deviation.
constexpr double kTolerance = 1e-6;
int g_faults = 0;
int g_checked = 0;

void fault(const std::string& what, const std::string& where) {
    if (++g_faults <= 20) std::printf("DIFFERS: %s: %s\n", where.c_str(), what.c_str());
}

struct Lane {
    CUstream stream = nullptr;
    Lane() { STATS_DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING); }
};

/// A tensor on the device, and its expected result.
struct Measured {
    Sample sample;
    Requested requested = Requested::nothing;
    std::unique_ptr<DeviceMemory> memory;
    ResultShape shape;
    std::size_t lines = 0;  // index of its lines
};

/// Returns a random or the planned number of blocks.
std::uint32_t blocks_of(const TensorView& view, Requested requested, const DeviceLimits& limits,
                        Engine& random) {
    if (below(random, 3) == 0) return blocks_for(view.dtype, element_count(view.sizes), requested, limits);
    return 1 + static_cast<std::uint32_t>(below(random, below(random, 4) == 0 ? 300 : 5));
}

/// Checks the elements that were copied to the host.
bool has_values(const Measured& tensor, const ResultLine* lines, std::uint32_t sequence) {
    const TensorView view = tensor.sample.view();
    const std::size_t bytes = element_size(view.dtype);
    std::vector<std::byte> got(tensor.shape.bytes_of_values);
    if (!gather_values(lines, tensor.shape, sequence, got)) return false;
    for (std::size_t i = 0; i < got.size() / bytes; ++i) {
        std::size_t rest = i;
        std::int64_t offset = 0;
        for (std::size_t d = view.sizes.size(); d-- > 0;) {
            offset +=
                static_cast<std::int64_t>(rest % static_cast<std::size_t>(view.sizes[d])) * view.strides[d];
            rest /= static_cast<std::size_t>(view.sizes[d]);
        }
        unsigned char element[16];
        std::memcpy(element,
                    static_cast<const std::byte*>(view.data) + offset * static_cast<std::int64_t>(bytes),
                    bytes);
        flip_signs(sign_mask(view.bits, view.dtype), element, bytes);
        if (std::memcmp(&got[i * bytes], element, bytes) != 0) return false;
    }
    return true;
}

bool same_exactly(const RealStatistics& a, const RealStatistics& b) {
    const auto same_number = [](const Number& x, const Number& y) {
        return x.signed_integer == y.signed_integer && x.unsigned_integer == y.unsigned_integer &&
               (x.floating == y.floating || (std::isnan(x.floating) && std::isnan(y.floating)));
    };
    return a.nan == b.nan && a.positive_infinity == b.positive_infinity && a.zeros == b.zeros &&
           a.negative_infinity == b.negative_infinity && a.minimum_index == b.minimum_index &&
           a.maximum_index == b.maximum_index && a.first_nonfinite == b.first_nonfinite &&
           a.first_nan == b.first_nan && a.sum_low == b.sum_low && a.sum_high == b.sum_high &&
           same_number(a.all.minimum, b.all.minimum) && same_number(a.all.maximum, b.all.maximum) &&
           same_number(a.finite.minimum, b.finite.minimum) && same_number(a.finite.maximum, b.finite.maximum);
}

void check(const Sample& sample, Requested requested, const TensorStatistics& got) {
    ++g_checked;
    const std::string where = sample.name() + ", requested " + std::to_string(static_cast<int>(requested));
    const TensorStatistics cpu = measure(sample.view(), requested);
    if (got.hash != cpu.hash) fault("hash", where);
    const std::string text = difference(got, sample, requested, kTolerance);
    if (!text.empty()) return fault(text, where);
    if (wants(requested, Requested::printed | Requested::indices) &&
        (!same_exactly(got.real, cpu.real) || !same_exactly(got.imaginary, cpu.imaginary)))
        fault("not what the CPU says", where);
}

/// Launches several tensors each on two streams at once, then checks all of them.
void check_matrix(const Device& device, int rounds, Engine& random) {
    constexpr std::uint32_t kLaunches = 24;
    Lane lanes[2];
    Mapped<ResultLine> lines(std::size_t{1} << 20U);
    std::uint32_t sequence = 0;
    std::uint32_t next_dtype = 0;
    for (int round = 0; round < rounds; ++round) {
        std::vector<Measured> tensors;
        std::vector<StatisticsLaunch> launches(kLaunches);
        std::size_t used = 0;
        ++sequence;
        for (std::uint32_t n = 0; n < kLaunches; ++n) {
            StatisticsLaunch& launch = launches[n];
            for (std::uint64_t left = 1 + below(random, kMostJobs); left > 0; --left) {
                Measured tensor;
                const std::uint64_t largest =
                    below(random, 40) == 0 ? 300000 : (below(random, 3) == 0 ? 9000 : 200);
                tensor.sample = make_sample(static_cast<DType>(next_dtype++ % kDTypes),
                                            static_cast<Shape>(below(random, kShapes)),
                                            static_cast<Content>(below(random, kContents)), largest, random);
                tensor.requested = kRequests[below(random, std::size(kRequests))];
                const std::vector<unsigned char>& storage = tensor.sample.storage;
                tensor.memory = std::make_unique<DeviceMemory>(storage.size());
                if (!storage.empty()) tensor.memory->fill_from(storage.data(), storage.size());
                const TensorView view = tensor.sample.view(tensor.memory->pointer());
                const std::uint32_t blocks = blocks_of(view, tensor.requested, device.limits(), random);
                tensor.shape = shape_of(view, tensor.requested, blocks);
                tensor.lines = used;
                if (!add_job(launch, view, tensor.requested, blocks, lines.address(used))) break;
                used += tensor.shape.lines();
                tensors.push_back(std::move(tensor));
            }
            launch.sequence = sequence;
        }
        if (used > lines.all().size()) fail("too many lines", static_cast<int>(used));
        STATS_DRIVER(
            cuCtxSynchronize);  // a copy from pageable memory may still be in progress when its call returns
        for (std::uint32_t n = 0; n < kLaunches; ++n)
            if (launches[n].jobs > 0) device.launch(launches[n], lanes[n % 2].stream);
        for (const Measured& tensor : tensors) {
            // Ignores statistics that were measured but not requested.
            const TensorPartial partial = await(&lines[tensor.lines], tensor.shape, sequence);
            check(tensor.sample, tensor.requested, finish(partial, tensor.sample.view(), tensor.requested));
            if (!has_values(tensor, &lines[tensor.lines], sequence)) fault("elements", tensor.sample.name());
        }
        STATS_DRIVER(cuCtxSynchronize);
    }
    std::printf("matrix: %d tensors\n", g_checked);
}

/// Measures one tensor at a time.
class OneByOne {
  public:
    explicit OneByOne(const Device& device) : device_(device) {}

    /// Uses `blocks` blocks, or the planned number for 0, which `blocks` then becomes.
    TensorStatistics measure(const TensorView& view, Requested requested, std::uint32_t& blocks) {
        if (blocks == 0)
            blocks = blocks_for(view.dtype, element_count(view.sizes), requested, device_.limits());
        const ResultShape shape = shape_of(view, requested, blocks);
        StatisticsLaunch launch;
        if (shape.lines() > lines_.all().size() ||
            !add_job(launch, view, requested, blocks, lines_.address(0)))
            fail("a job does not fit", 0);
        launch.sequence = ++sequence_;
        device_.launch(launch, lane_.stream);
        return finish(await(&lines_[0], shape, sequence_), view, requested);
    }

  private:
    const Device& device_;
    Lane lane_;
    Mapped<ResultLine> lines_{1U << 15U};
    std::uint32_t sequence_ = 0;
};

/// Measures every byte of the dtypes of one byte.
void check_bytes(const Device& device, Engine& random) {
    OneByOne one(device);
    for (const DType dtype : kByteFloats)
        for (const Sample& sample : all_bytes_laid_out(dtype, random))
            for (const Requested requested : kRequests) {
                const DeviceMemory memory(sample.storage.size());
                memory.fill_from(sample.storage.data(), sample.storage.size());
                STATS_DRIVER(cuCtxSynchronize);
                std::uint32_t blocks = 0;
                check(sample, requested, one.measure(sample.view(memory.pointer()), requested, blocks));
            }
}

/// Measures transposed tensors that are read in patches, by one patch and many, alone and with outer
/// dimensions.
void check_patches(const Device& device, Engine& random, std::uint64_t contents) {
    OneByOne one(device);
    for (std::uint64_t number = 0; number < kDTypes; ++number) {
        const auto dtype = static_cast<DType>(number);
        const std::int64_t in_patch = kPatchBytes / element_size(dtype);
        const std::int64_t group = 16 / element_size(dtype);
        for (std::uint64_t content = 0; content < contents; ++content) {
            const auto rows = in_patch * static_cast<std::int64_t>(1 + below(random, 3));
            const auto columns = kPatchColumns * static_cast<std::int64_t>(1 + below(random, 3));
            const std::int64_t pitch = rows + group * static_cast<std::int64_t>(below(random, 3));
            Sample sample;
            sample.dtype = dtype;
            sample.sizes = {rows, columns};
            sample.strides = {1, pitch};
            if (below(random, 2) == 0) {
                sample.sizes = {2, 3, rows, columns};
                sample.strides = {3 * pitch * columns, pitch * columns, 1, pitch};
            }
            sample.storage.resize(static_cast<std::size_t>(6 * pitch * columns) * element_size(dtype));
            fill(sample, static_cast<Content>(content), random);
            const DeviceMemory memory(sample.storage.size());
            memory.fill_from(sample.storage.data(), sample.storage.size());
            STATS_DRIVER(cuCtxSynchronize);
            const TensorView view = sample.view(memory.pointer());
            if (prepare_job(view, kEverything).job.strided_load != StridedLoad::patches)
                fault("not in patches", sample.name());
            for (const Requested requested :
                 {kEverything, Requested::printed | Requested::hash, Requested::hash, Requested::indices})
                for (std::uint32_t blocks : {0U, 1U, 7U})
                    check(sample, requested, one.measure(view, requested, blocks));
        }
    }
}

/// Measures powers of two from narrow and wide ranges of exponents. In the second half, small ones become
/// large.
void check_scales(const Device& device, Engine& random) {
    OneByOne one(device);
    for (const std::uint64_t first : {0, 1, 20, 60, 125, 190, 240})
        for (const std::uint64_t many : {1, 2, 30, 70, 255})
            for (const bool with_nan : {false, true}) {
                Sample sample;
                sample.dtype = DType::float8_e8m0fnu;
                const std::uint64_t count = 100000 + below(random, 100);
                sample.sizes = {static_cast<std::int64_t>(count)};
                sample.strides = {1};
                for (std::uint64_t i = 0; i < count; ++i) {
                    const std::uint64_t exponent = std::min<std::uint64_t>(first + below(random, many), 254);
                    sample.storage.push_back(
                        static_cast<unsigned char>(i < count / 2 ? exponent : 254 - exponent));
                }
                if (with_nan) sample.storage[below(random, count)] = 255;
                const DeviceMemory memory(count);
                memory.fill_from(sample.storage.data(), count);
                STATS_DRIVER(cuCtxSynchronize);
                for (const Requested requested : {Requested::printed, kEverything})
                    for (std::uint32_t blocks : {0U, 1U})
                        check(sample, requested,
                              one.measure(sample.view(memory.pointer()), requested, blocks));
            }
}

/// Places a NaN last, for lengths that end anywhere in a thread's and a block's share.
void check_ends(const Device& device) {
    OneByOne one(device);
    for (const DType dtype : {DType::float16, DType::float32, DType::float64, DType::complex64}) {
        const std::uint64_t bytes = element_size(dtype);
        for (const std::uint64_t groups : {0, 1, 255, 256, 700, 1023, 1024, 1500, 2000, 5000, 9999}) {
            for (std::uint64_t more = 1; more <= 16 / bytes; ++more) {
                const std::uint64_t count = groups * (16 / bytes) + more;
                std::vector<unsigned char> storage(count * bytes, 0);
                std::fill(storage.end() - static_cast<std::ptrdiff_t>(bytes), storage.end(), 0xff);
                const DeviceMemory memory(storage.size());
                memory.fill_from(storage.data(), storage.size());
                STATS_DRIVER(cuCtxSynchronize);
                const std::int64_t sizes[] = {static_cast<std::int64_t>(count)};
                const std::int64_t strides[] = {1};
                for (const Requested requested : {Requested::findings, kEverything}) {
                    const TensorView view{memory.pointer(), dtype, sizes, strides};
                    std::uint32_t blocks = 0;
                    const TensorStatistics got = one.measure(view, requested, blocks);
                    ++g_checked;
                    if (got.real.nan != 1 || got.real.first_nan != count - 1)
                        fault("the NaN at the end", std::to_string(count) + " of " + dtype_name(dtype));
                }
            }
        }
    }
}

/// Measures one tensor with several grids. Exact results must not depend on the grid.
class Grids {
  public:
    explicit Grids(const Device& device) : one_(device) {}

    void check(const char* name, const TensorView& view, const TensorView& on_host, long double mean,
               long double deviation, double tolerance) {
        TensorStatistics first = on_cpu(on_host);
        for (std::uint32_t blocks : {0U, 1U, 37U, 528U, 4099U}) {
            const TensorStatistics got = one_.measure(view, kEverything, blocks);
            const std::string where = std::string(name) + ", " + std::to_string(blocks) + " blocks";
            const double mean_error = error(got.real.all.mean, mean);
            const double deviation_error = error(got.real.all.standard_deviation, deviation);
            std::printf("%s: mean %.12g (off by %.1e), std %.9g (off by %.1e)\n", where.c_str(),
                        got.real.all.mean, mean_error, got.real.all.standard_deviation, deviation_error);
            if (!(mean_error <= tolerance) || !(deviation_error <= tolerance)) fault("mean or std", where);
            if (got.hash != first.hash) fault("hash", where);
            if (!same_exactly(got.real, first.real)) fault("not what the CPU says", where);
            ++g_checked;
        }
    }

  private:
    static double error(double got, long double expected) {
        return static_cast<double>(std::fabs((static_cast<long double>(got) - expected) / expected));
    }

    static TensorStatistics on_cpu(const TensorView& view) {
        const std::uint32_t parts = std::max(1U, std::thread::hardware_concurrency());
        const std::uint64_t count = element_count(view.sizes);
        std::vector<TensorPartial> partials(parts);
        std::vector<std::thread> threads;
        for (std::uint32_t i = 0; i < parts; ++i)
            threads.emplace_back([&, i] {
                partials[i] = measure_range(view, kEverything, range_begin(count, i, parts),
                                            range_begin(count, i + 1, parts));
            });
        for (std::thread& thread : threads)
            thread.join();
        for (std::uint32_t i = 1; i < parts; ++i)
            merge(partials[0], partials[i]);
        return finish(partials[0], view, kEverything);
    }

    OneByOne one_;
};

/// Returns an approximately normal number, as a sum of four, from a counter, so threads need no order.
float made_up(std::uint64_t i, double mean, double deviation) {
    std::uint64_t bits = (i + 1) * 0x9e3779b97f4a7c15ULL;
    bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebULL;
    bits ^= bits >> 31U;
    double sum = 0;
    for (unsigned part = 0; part < 4; ++part)
        sum += static_cast<double>(bits >> (part * 16) & 0xffffU) / 65536 - 0.5;
    return static_cast<float>(mean + deviation * 1.7320508 * sum);
}

void check_accuracy(const Device& device, const char* name, std::uint64_t count, double mean,
                    double deviation, bool outlier) {
    std::vector<float> values(count);
    const std::uint64_t threads = std::max(1U, std::thread::hardware_concurrency());
    std::vector<long double> sums(threads);
    std::vector<long double> squares(threads);
    const auto in_threads = [&](auto work) {
        std::vector<std::thread> all;
        for (std::uint64_t t = 0; t < threads; ++t)
            all.emplace_back([&, t] {
                work(t, count / threads * t, t + 1 == threads ? count : count / threads * (t + 1));
            });
        for (std::thread& thread : all)
            thread.join();
    };
    const auto total = [](const std::vector<long double>& parts) {
        long double sum = 0;
        for (const long double part : parts)
            sum += part;
        return sum;
    };
    in_threads([&](std::uint64_t t, std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i)
            values[i] = outlier && i == 12345 ? 1e12F : made_up(i, mean, deviation);
        for (std::uint64_t i = begin; i < end; ++i)
            sums[t] += values[i];
    });
    const long double true_mean = total(sums) / static_cast<long double>(count);
    in_threads([&](std::uint64_t t, std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i)
            squares[t] += (values[i] - true_mean) * (values[i] - true_mean);
    });
    const long double true_deviation = std::sqrt(total(squares) / static_cast<long double>(count - 1));
    const DeviceMemory memory(count * 4);
    memory.fill_from(values.data(), count * 4);
    STATS_DRIVER(cuCtxSynchronize);
    const std::int64_t sizes[] = {static_cast<std::int64_t>(count)};
    const std::int64_t strides[] = {1};
    Grids(device).check(name, {memory.pointer(), DType::float32, sizes, strides},
                        {values.data(), DType::float32, sizes, strides}, true_mean, true_deviation,
                        kTolerance);
}

}  // namespace

int main(int argc, char** argv) {
    const Device device;
    Engine random(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
    check_matrix(device, argc > 2 ? std::atoi(argv[2]) : 45, random);
    check_bytes(device, random);
    check_patches(device, random, argc <= 2 ? kContents : 1);
    check_ends(device);
    check_scales(device, random);
    if (argc <= 2) {
        check_accuracy(device, "mean 1, std 0.01", 100003, 1, 0.01, false);
        check_accuracy(device, "mean 1e6, std 1", 1U << 24U, 1e6, 1, false);
        check_accuracy(device, "mean 3, std 1, one of 1e12", (1U << 24U) + 5, 3, 1, true);
        check_accuracy(device, "mean 1e4, std 1, 1e9 of them", 1000000000, 1e4, 1, false);
    }
    std::printf("%s: %d tensors checked, %d differ\n", g_faults == 0 ? "ok" : "FAILED", g_checked, g_faults);
    return g_faults == 0 ? 0 : 1;
}

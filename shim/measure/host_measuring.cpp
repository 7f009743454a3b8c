#include "shim/measure/host_measuring.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/errno_keeper.hpp"
#include "stats_kernels/cpu_statistics.hpp"
#include "stats_kernels/float_state.hpp"
#include "stats_kernels/logical_walk.hpp"
#include "stats_kernels/math_bits.hpp"

namespace aoti_dbg {
namespace {

constexpr std::uint32_t kNoLimit = UINT32_MAX;

/// Returns the first number of a list, such as "4,2" for two levels of threads.
std::uint32_t number_in(const char* variable) {
    const char* value = getenv(variable);
    if (value == nullptr) return kNoLimit;
    const std::string_view text(value);
    const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    std::uint32_t number = 0;
    const auto parsed = std::from_chars(text.data() + begin, text.data() + text.size(), number);
    return parsed.ec == std::errc() && number != 0 ? number : kNoLimit;
}

/// This is not a function-local static, because a fork's child could find its guard locked.
std::uint32_t number_in_environment() {
    static std::atomic<std::uint32_t> known{0};
    std::uint32_t number = known.load(std::memory_order_relaxed);
    if (number != 0) return number;
    number = std::min(number_in("OMP_NUM_THREADS"), number_in("OMP_THREAD_LIMIT"));
    known.store(number, std::memory_order_relaxed);
    return number;
}

/// The limit of the calling thread, which the threads that it creates inherit.
std::uint32_t own_processors() {
    // This covers the largest processor count that Linux supports.
    cpu_set_t processors[8];
    const int failed = sched_getaffinity(0, sizeof processors, processors);
    return failed != 0 ? 1 : static_cast<std::uint32_t>(CPU_COUNT_S(sizeof processors, processors));
}

/// On the heap, because it is too large for the stack of a program's thread.
struct Ranges {
    TensorView tensor;
    Requested requested = Requested::nothing;
    std::uint64_t count = 0;
    std::uint32_t parts = 0;
    TensorPartial partials[SharedWork::kMostParts];

    static void measure_part(void* ranges, std::uint32_t part) {
        auto& its = *static_cast<Ranges*>(ranges);
        its.partials[part] = measure_range(its.tensor, its.requested, range_begin(its.count, part, its.parts),
                                           range_begin(its.count, part + 1, its.parts));
    }
};

}  // namespace

std::uint32_t allowed_threads(std::uint32_t program_wants) {
    const ErrnoKeeper errno_keeper;
    const std::uint32_t requested =
        std::min(program_wants == 0 ? kNoLimit : program_wants, number_in_environment());
    return requested == 1 ? 1 : std::min(requested, own_processors());
}

TensorStatistics measure_shared(const TensorView& tensor, Requested requested, HostPool* pool,
                                std::uint32_t most_threads) {
    const std::uint64_t count = element_count(tensor.sizes);
    const bool is_quick = !wants(requested, Requested::printed | Requested::indices | Requested::hash);
    const std::uint64_t part_elements = kSharedPartElements * (is_quick ? 4 : 1);
    if (count < 2 * part_elements) return measure(tensor, requested);
    // The ranges and the merge order do not depend on the threads, so the rounding does not either.
    const auto parts =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(count / part_elements, SharedWork::kMostParts));
    const auto ranges = std::make_unique<Ranges>(Ranges{tensor, requested, count, parts, {}});
    const SharedWork work{Ranges::measure_part, ranges.get(), parts};
    if (pool != nullptr) {
        pool->share(work, most_threads);
    } else {
        for (std::uint32_t part = 0; part < parts; ++part)
            Ranges::measure_part(ranges.get(), part);
    }
    const DefaultFloatState float_state;
    for (std::uint32_t part = 1; part < parts; ++part)
        merge(ranges->partials[0], ranges->partials[part]);
    return finish(ranges->partials[0], tensor, requested);
}

std::unique_ptr<MeasuredOnHost> measure_on_host(const SeenTensor& tensor, Requested requested,
                                                const ShimApi& api) {
    const TensorView view = tensor.facts->view(tensor.address);
    const std::uint64_t count = tensor.facts->count;
    const bool is_large = count >= 2 * kSharedPartElements;
    const std::int32_t program_wants = is_large && api.most_threads != nullptr ? api.most_threads() : 0;
    const std::uint32_t threads =
        is_large ? allowed_threads(static_cast<std::uint32_t>(std::max(program_wants, 0))) : 1;
    auto measured = std::make_unique<MeasuredOnHost>();
    measured->statistics =
        measure_shared(view, requested, threads == 1 ? nullptr : HostPool::of_process(), threads);
    if (count == 0 || count > kMostPrintedValues || !wants(requested, Requested::printed)) return measured;
    const std::uint32_t bytes = element_size(view.dtype);
    const Layout layout = collapse(view.sizes, view.strides);
    measured->values.resize(count * bytes);
    auto* const values = reinterpret_cast<unsigned char*>(measured->values.data());
    LogicalWalk(view.data, bytes, layout, 0).gather(static_cast<std::uint32_t>(count), values);
    flip_signs(sign_mask(view.bits, view.dtype), values, count * bytes);
    return measured;
}

}  // namespace aoti_dbg

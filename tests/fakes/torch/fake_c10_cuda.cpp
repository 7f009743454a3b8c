// The part of libc10_cuda that reports an allocation of the caching allocator. FAKE_TORCH_SILENT=1: it
// reports nothing, as an allocator that is not PyTorch's own.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace c10 {

struct Device {
    std::int8_t type;
    std::int8_t index;
};
void reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::size_t allocated,
                                 std::size_t reserved, Device device);

}  // namespace c10

extern "C" void fake_c10_cuda_report(void* address, std::int64_t bytes) {
    static const bool is_silent = std::getenv("FAKE_TORCH_SILENT") != nullptr;
    constexpr std::int8_t kCuda = 1;
    if (!is_silent) c10::reportMemoryUsageToProfiler(address, bytes, 0, 0, {kCuda, 0});
}

// Where libc10 learns what allocators hand out. As in PyTorch, it is a library of its own, so a caller
// reaches it through an import slot.
#include <cstddef>
#include <cstdint>

namespace c10 {

struct Device {
    std::int8_t type;
    std::int8_t index;
};

__attribute__((visibility("default"))) void reportMemoryUsageToProfiler(void* /*address*/,
                                                                        std::int64_t /*bytes*/,
                                                                        std::size_t /*allocated*/,
                                                                        std::size_t /*reserved*/,
                                                                        Device /*device*/) {}

}  // namespace c10

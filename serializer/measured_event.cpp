#include "serializer/measured_event.hpp"

#include <atomic>

namespace aoti_dbg {

std::uint64_t next_facts_number() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace aoti_dbg

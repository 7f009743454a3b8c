#include "shim/runtime/driver_api.hpp"

#include <atomic>

#include "base/errno_keeper.hpp"
#include "shim/runtime/driver_table.hpp"

namespace aoti_dbg {

__thread unsigned t_own_driver_calls __attribute__((tls_model("initial-exec"))) = 0;

namespace {

template <typename Pointer>
bool find(OwnDriverFunction<Pointer>& function, const char* name) {
    function = reinterpret_cast<Pointer>(other_driver_function(name));
    return function != nullptr;
}

}  // namespace

[[gnu::hot]] const DriverApi* driver_api() {
    static std::atomic<const DriverApi*> known{nullptr};
    if (const DriverApi* api = known.load(std::memory_order_acquire); api != nullptr) return api;
    DriverApi found;
    bool is_complete = true;
#define AOTI_DBG_FIND(name) is_complete = is_complete && find(found.name, #name);
    AOTI_DBG_REQUIRED_DRIVER_FUNCTIONS(AOTI_DBG_FIND)
#undef AOTI_DBG_FIND
    if (!is_complete) return nullptr;
#define AOTI_DBG_FIND(name) find(found.name, #name);
    AOTI_DBG_OPTIONAL_DRIVER_FUNCTIONS(AOTI_DBG_FIND)
#undef AOTI_DBG_FIND
    const DriverApi* expected = nullptr;
    const auto* created = new DriverApi(found);
    if (!known.compare_exchange_strong(expected, created, std::memory_order_acq_rel)) {
        delete created;
        return expected;
    }
    return created;
}

std::uint64_t allocation_bytes(std::uint64_t address) {
    const ErrnoKeeper errno_keeper;
    const DriverApi* const api = driver_api();
    std::size_t bytes = 0;
    const bool is_known =
        api != nullptr && api->cuMemGetAddressRange_v2(nullptr, &bytes, address) == CUDA_SUCCESS;
    return is_known ? bytes : 0;
}

}  // namespace aoti_dbg

#include "shim/runtime/slots.hpp"

#include <deque>
#include <map>
#include <mutex>
#include <tuple>

#include "base/message.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"

extern "C" __attribute__((visibility("hidden"))) const char aoti_dbg_stubs[];

namespace aoti_dbg {

SlotRoom g_slots[kSlots];
__thread std::uint32_t t_unwatched_roles __attribute__((tls_model("initial-exec"))) = 0;

namespace {

constexpr std::size_t kStubBytes = 16;

using Key = std::tuple<const void*, const Name*, std::uint16_t>;

struct Pool {
    std::map<Key, std::uint32_t> by_key;
    std::deque<std::uint32_t> retired;
    std::uint32_t fresh = 0;  // first slot that was never used
    bool said_full = false;
};

Pool& pool() {
    static auto* instance = new Pool;
    return *instance;
}

void* stub_at(std::uint32_t number) {
    return const_cast<char*>(aoti_dbg_stubs) + number * kStubBytes;
}

}  // namespace

bool moves_tensors(std::string_view op) {
    // torch.compile calls set_() if a function replaces the memory of its input.
    return op.ends_with("_set__source_Tensor") || op.ends_with("_resize_") || op.ends_with("_resize_as_");
}

void* stub_for(const Slot& requested) {
    const std::lock_guard lock(wiped_page().slots_mutex);
    Pool& all = pool();
    const Key key{requested.real, requested.name, requested.model};
    if (const auto found = all.by_key.find(key); found != all.by_key.end()) return stub_at(found->second);

    std::uint32_t number = 0;
    if (all.fresh < kSlots) {
        number = all.fresh++;
    } else if (!all.retired.empty()) {
        number = all.retired.front();
        all.retired.pop_front();
    } else {
        if (!all.said_full) {
            message(Severity::warn,
                    "cannot intercept '%s': all %u stubs are in use. Other new functions are not intercepted "
                    "either. Unload models that you no longer need.",
                    requested.name->printed.c_str(), kSlots);
        }
        all.said_full = true;
        return nullptr;
    }
    // The caller publishes the stub's address later, when it writes the address into an import slot.
    Slot& slot = *new (&g_slots[number]) Slot(requested);
    // r: a returned tensor; t: the tensors of an op behind the proxy executor, including those it creates.
    slot.gives_tensors =
        slot.shim != nullptr && slot.shim->args.view().find_first_of("rt") != std::string_view::npos;
    slot.moves_tensors = slot.shim != nullptr && moves_tensors(slot.shim->name);
    slot.role_bit = bit_of(slot.role);
    all.by_key.emplace(key, number);
    return stub_at(number);
}

bool is_stub(const void* address) {
    const auto* where = static_cast<const char*>(address);
    return where >= aoti_dbg_stubs && where < aoti_dbg_stubs + kSlots * kStubBytes;
}

void retire_slots_of(std::uint16_t model) {
    const std::lock_guard lock(wiped_page().slots_mutex);
    Pool& all = pool();
    for (auto entry = all.by_key.begin(); entry != all.by_key.end();) {
        if (std::get<2>(entry->first) != model) {
            ++entry;
            continue;
        }
        all.retired.push_back(entry->second);
        entry = all.by_key.erase(entry);
    }
}

}  // namespace aoti_dbg

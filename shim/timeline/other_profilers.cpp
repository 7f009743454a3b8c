// See other_profilers.hpp.
#include "shim/timeline/other_profilers.hpp"

#include <cstring>

#include "shim/runtime/loaded_object.hpp"

namespace aoti_dbg {
namespace {

const cupti::Api* g_api = nullptr;
void (*g_give_way)() = nullptr;

cupti::Status subscribe(void** subscriber, void* callback, void* data) {
    g_give_way();
    return g_api->subscribe(subscriber, callback, data);
}

cupti::Status register_callbacks(cupti::RequestBuffer request, cupti::CompleteBuffer complete) {
    g_give_way();
    return g_api->register_callbacks(request, complete);
}

struct Watched {
    const char* name;
    void* real;
    void* ours;
};

void watch_imports(const LoadedObject& object, const Watched (&watched)[2]) {
    for_each_import(object, [&](const ImportSlot& slot) {
        for (const Watched& one : watched) {
            if (strcmp(slot.symbol, one.name) != 0 || real_behind(object, slot) != one.real) continue;
            // A slot that cannot be written is not watched, so that profiler takes CUPTI without notice.
            (void)write_slot(object, slot, one.ours);
        }
    });
}

}  // namespace

void watch_for_other_profilers(const cupti::Api& api, void (*give_way)()) {
    g_api = &api;
    g_give_way = give_way;
    const Watched watched[] = {
        {"cuptiSubscribe", reinterpret_cast<void*>(api.subscribe), reinterpret_cast<void*>(&subscribe)},
        {"cuptiActivityRegisterCallbacks", reinterpret_cast<void*>(api.register_callbacks),
         reinterpret_cast<void*>(&register_callbacks)},
    };
    for (const LoadedObject& object : loaded_objects())
        if (!object.contains(reinterpret_cast<std::uintptr_t>(api.subscribe))) watch_imports(object, watched);
}

}  // namespace aoti_dbg

// See cupti_api.hpp.
#include "shim/timeline/cupti_api.hpp"

#include <dlfcn.h>

#include <string>
#include <vector>

#include "shim/runtime/loaded_object.hpp"
#include "shim/runtime/real_dlsym.hpp"

namespace aoti_dbg::cupti {
namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12"};

/// The folders where torch's packages keep CUPTI, in the order of preference.
std::vector<std::string> paths_near_torch() {
    std::vector<std::string> paths;
    for (const LoadedObject& object : loaded_objects()) {
        const std::size_t at = object.path.find("/torch/lib/libtorch_");
        if (at == std::string::npos) continue;
        const std::string packages = object.path.substr(0, at) + "/nvidia/";
        paths.push_back(packages + "cu13/lib/libcupti.so.13");
        paths.push_back(packages + "cuda_cupti/lib/libcupti.so.12");
        break;
    }
    return paths;
}

void* open_library() {
    for (const char* name : kNames)
        if (void* const loaded = dlopen(name, RTLD_NOW | RTLD_NOLOAD); loaded != nullptr) return loaded;
    std::vector<std::string> paths = paths_near_torch();
    paths.insert(paths.end(), std::begin(kNames), std::end(kNames));
    for (const char* folder : {"/usr/local/cuda/extras/CUPTI/lib64/", "/usr/local/cuda/lib64/"})
        for (const char* name : kNames)
            paths.push_back(std::string(folder) + name);
    for (const std::string& path : paths)
        if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr)
            return library;
    return nullptr;
}

template <typename Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(real_dlsym(library, name));
    return function != nullptr;
}

}  // namespace

bool has_common_correlation(const Api& api) {
    constexpr std::uint32_t kTried = 130000;  // CUDA 13.0
    std::uint32_t version = 0;
    return api.version != nullptr && api.version(&version) == kSuccess && version >= kTried;
}

const Api* find_api() {
    void* const library = open_library();
    if (library == nullptr) return nullptr;
    static Api api;
    find(library, "cuptiGetVersion", api.version);
    find(library, "cuptiActivityEnableDriverApi", api.enable_driver_function);
    find(library, "cuptiActivityEnableRuntimeApi", api.enable_runtime_function);
    const bool has_all = find(library, "cuptiSubscribe", api.subscribe) &&
                         find(library, "cuptiUnsubscribe", api.unsubscribe) &&
                         find(library, "cuptiActivityRegisterCallbacks", api.register_callbacks) &&
                         find(library, "cuptiActivityEnable", api.enable) &&
                         find(library, "cuptiActivityDisable", api.disable) &&
                         find(library, "cuptiActivityFlushAll", api.flush_all) &&
                         find(library, "cuptiActivityGetNextRecord", api.next_record) &&
                         find(library, "cuptiActivityGetNumDroppedRecords", api.dropped) &&
                         find(library, "cuptiGetResultString", api.result_string);
    return has_all ? &api : nullptr;
}

}  // namespace aoti_dbg::cupti

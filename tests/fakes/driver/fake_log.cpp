// The driver's log: callbacks that get a line about a call that fails. Only some calls log why.
#include <array>
#include <cstdlib>

#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

struct Listener {
    std::atomic<CUlogsCallback> callback{nullptr};
    std::atomic<void*> data{nullptr};
};

// Calls that fail take no lock, because a forked child could find it locked.
std::array<Listener, 8> g_listeners;

thread_local bool t_is_in_callback = false;

CUlogsCallbackHandle handle_of(Listener& listener) {
    return reinterpret_cast<CUlogsCallbackHandle>(&listener);
}

}  // namespace

CUresult failed(CUresult result, const char* call, const std::string& why) {
    const std::string text = "[" + std::string(call) + "] " + why + "\n";
    t_is_in_callback = true;
    for (const Listener& listener : g_listeners) {
        std::string copy = text;  // a callback may write to its text
        if (const CUlogsCallback callback = listener.callback.load(); callback != nullptr)
            callback(listener.data.load(), CU_LOG_LEVEL_ERROR, copy.data(), copy.size());
    }
    t_is_in_callback = false;
    return result;
}

void expect_no_callback() {
    if (t_is_in_callback) std::abort();
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API CUresult cuLogsRegisterCallback(CUlogsCallback callback, void* data, CUlogsCallbackHandle* handle) {
    expect_no_callback();
    if (callback == nullptr) return CUDA_ERROR_INVALID_VALUE;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    for (Listener& listener : g_listeners) {
        if (listener.callback.load() != nullptr) continue;
        listener.data = data;
        listener.callback = callback;
        if (handle != nullptr) *handle = handle_of(listener);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_OUT_OF_MEMORY;
}

FAKE_API CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle handle) {
    expect_no_callback();
    for (Listener& listener : g_listeners)
        if (handle == handle_of(listener) && listener.callback.exchange(nullptr) != nullptr)
            return CUDA_SUCCESS;
    return CUDA_ERROR_INVALID_VALUE;
}

// Signals from streams to the host and to each other without events: callbacks, and words in memory.
#include <cstdlib>
#include <thread>

#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

CUresult add_callback(CUstream handle, CUstreamCallback callback, void* data, unsigned int flags,
                      bool per_thread) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    Stream* stream = nullptr;
    if (CUresult result = find_stream(handle, per_thread, context, stream); result != CUDA_SUCCESS)
        return result;
    if (stream->captures) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return enqueue(handle, per_thread, false,
                   [=] { callback(handle, static_cast<CUresult>(context->sticky.load()), data); });
}

template <typename Word>
std::atomic_ref<Word> word_at(CUdeviceptr address) {
    return std::atomic_ref<Word>(*reinterpret_cast<Word*>(address));
}

/// Imitates drivers on which stream memory operations are disabled.
bool knows_no_values() {
    static const bool value = std::getenv("FAKE_CUDA_NO_STREAM_VALUES") != nullptr;
    return value;
}

template <typename Word>
CUresult write_value(CUstream stream, CUdeviceptr address, Word value, bool per_thread) {
    if (knows_no_values()) return CUDA_ERROR_NOT_SUPPORTED;
    if (!is_known(address, sizeof(Word)) || address % sizeof(Word) != 0) return CUDA_ERROR_INVALID_VALUE;
    // A broken context writes nothing.
    return enqueue(stream, per_thread, false, [=, context = current_context()] {
        wait_for_device(context);
        if (context->sticky.load(std::memory_order_acquire) == 0)
            word_at<Word>(address).store(value, std::memory_order_release);
    });
}

template <typename Word>
CUresult wait_value(CUstream stream, CUdeviceptr address, Word value, unsigned int flags, bool per_thread) {
    if (!is_known(address, sizeof(Word)) || address % sizeof(Word) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (flags != CU_STREAM_WAIT_VALUE_GEQ && flags != CU_STREAM_WAIT_VALUE_EQ)
        return CUDA_ERROR_NOT_SUPPORTED;
    return enqueue(stream, per_thread, false, [=, context = current_context()] {
        while (context->sticky.load(std::memory_order_acquire) == 0) {
            const Word now = word_at<Word>(address).load(std::memory_order_acquire);
            if (flags == CU_STREAM_WAIT_VALUE_EQ ? now == value : now >= value) return;
            std::this_thread::yield();
        }
    });
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

#define FAKE_SIGNAL_FUNCTIONS(suffix, per_thread)                                                            \
    FAKE_API CUresult cuStreamAddCallback##suffix(CUstream stream, CUstreamCallback callback, void* data,    \
                                                  unsigned int flags) {                                      \
        return add_callback(stream, callback, data, flags, per_thread);                                      \
    }                                                                                                        \
    FAKE_API CUresult cuStreamWriteValue32_v2##suffix(CUstream stream, CUdeviceptr address,                  \
                                                      cuuint32_t value, unsigned int) {                      \
        return write_value(stream, address, value, per_thread);                                              \
    }                                                                                                        \
    FAKE_API CUresult cuStreamWriteValue64_v2##suffix(CUstream stream, CUdeviceptr address,                  \
                                                      cuuint64_t value, unsigned int) {                      \
        return write_value(stream, address, value, per_thread);                                              \
    }                                                                                                        \
    FAKE_API CUresult cuStreamWaitValue32_v2##suffix(CUstream stream, CUdeviceptr address, cuuint32_t value, \
                                                     unsigned int flags) {                                   \
        return wait_value(stream, address, value, flags, per_thread);                                        \
    }                                                                                                        \
    FAKE_API CUresult cuStreamWaitValue64_v2##suffix(CUstream stream, CUdeviceptr address, cuuint64_t value, \
                                                     unsigned int flags) {                                   \
        return wait_value(stream, address, value, flags, per_thread);                                        \
    }

FAKE_SIGNAL_FUNCTIONS(, false)
FAKE_SIGNAL_FUNCTIONS(_ptsz, true)

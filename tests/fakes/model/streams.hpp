// The streams of a CUDA model: the guard of the caller's stream, and with FAKE_STREAMS a stream of the
// model's own. It must look like compiler output: calls through import slots, no code of ours.
#pragma once

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/fakes/torch/fake_torch.h"

namespace {

inline void check(AOTITorchError code, const char* what) {
    if (code != 0) throw std::runtime_error(std::string(what) + " failed");
}
#define AOTI_TORCH_ERROR_CODE_CHECK(call) check(call, #call)

inline void check_driver(CUresult code) {
    if (code != CUDA_SUCCESS) throw std::runtime_error("CUDA driver error: " + std::to_string(code));
}

class AOTICudaStreamGuard {
  public:
    AOTICudaStreamGuard(void* stream, int32_t device) {
        AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_create_cuda_stream_guard(stream, device, &guard_));
    }
    ~AOTICudaStreamGuard() { aoti_torch_delete_cuda_stream_guard(guard_); }
    AOTICudaStreamGuard(const AOTICudaStreamGuard&) = delete;
    AOTICudaStreamGuard& operator=(const AOTICudaStreamGuard&) = delete;

  private:
    CUDAStreamGuardHandle guard_ = nullptr;
};

#ifdef FAKE_STREAMS
inline void nap(void* /*data*/) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

/// A stream besides the caller's, as aoti_runtime/streams.h has since PyTorch 2.14. It starts late, so that a
/// reader on another stream is too early. With FAKE_UNJOINED=1 the caller's stream does not wait for it.
class SideStream {
  public:
    SideStream() {
        check_driver(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
        check_driver(cuEventCreate(&begins_, CU_EVENT_DISABLE_TIMING));
        check_driver(cuEventCreate(&ends_, CU_EVENT_DISABLE_TIMING));
    }
    SideStream(const SideStream&) = delete;
    SideStream& operator=(const SideStream&) = delete;
    ~SideStream() {
        cuEventDestroy(begins_);
        cuEventDestroy(ends_);
        cuStreamDestroy(stream_);
    }
    void* begin(void* caller) {
        check_driver(cuEventRecord(begins_, static_cast<CUstream>(caller)));
        check_driver(cuStreamWaitEvent(stream_, begins_, 0));
        check_driver(cuLaunchHostFunc(stream_, nap, nullptr));
        guard_ = std::make_unique<AOTICudaStreamGuard>(stream_, 0);
        return stream_;
    }
    void end(void* caller) {
        guard_.reset();
        check_driver(cuEventRecord(ends_, stream_));
        if (std::getenv("FAKE_UNJOINED") == nullptr)
            check_driver(cuStreamWaitEvent(static_cast<CUstream>(caller), ends_, 0));
    }

  private:
    CUstream stream_ = nullptr;
    CUevent begins_ = nullptr;
    CUevent ends_ = nullptr;
    std::unique_ptr<AOTICudaStreamGuard> guard_;
};
#else
/// The caller's stream itself.
class SideStream {
  public:
    static void* begin(void* caller) { return caller; }
    static void end(void* /*caller*/) {}
};
#endif

}  // namespace

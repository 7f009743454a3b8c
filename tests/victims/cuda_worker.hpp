// Shared by the victims that run CUDA models: a model on a stream with its input, its runs and their results.
// It exits if the driver refuses a call. It must print nothing but errors to stdout.
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>

#include <cstdint>
#include <vector>

#include "tests/victims/model_user.hpp"

namespace victim {

inline constexpr int64_t kRows = 8;
inline constexpr int64_t kColumns = 16;
inline constexpr size_t kInputBytes = kRows * kColumns * sizeof(float);
/// Exits the same way wherever the fault is noticed first, which depends on the device's speed.
[[noreturn]] inline void end_by_fault() {
    std::printf("the device faulted\n");
    std::exit(95);
}

inline void must(CUresult result, const char* what) {
    if (result == CUDA_SUCCESS) return;
    if (result == CUDA_ERROR_ILLEGAL_ADDRESS) end_by_fault();
    std::printf("%s failed with %d\n", what, static_cast<int>(result));
    std::exit(97);
}
#define MUST(call) victim::must(call, #call)

inline CUstream make_stream(const std::string& kind) {
    if (kind == "legacy") return nullptr;
    if (kind == "per_thread") return CU_STREAM_PER_THREAD;
    CUstream stream = nullptr;
    MUST(cuStreamCreate(&stream, kind == "blocking" ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
    return stream;
}

/// A hash of every bit of the outputs.
struct Fetched {
    std::uint64_t hash = 14695981039346656037ULL;

    void add(const std::vector<unsigned char>& bytes) {
        for (const unsigned char byte : bytes)
            hash = (hash ^ byte) * 1099511628211ULL;
    }
};

/// A model in one thread, with its input memory and its stream.
class Worker {
  public:
    Worker(const Torch& torch, const Model& model, const std::string& stream_kind)
        : torch_(torch), model_(model), stream_(make_stream(stream_kind)) {
        MUST(cuMemAlloc_v2(&input_, kInputBytes));
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    ~Worker() {
        if (is_abandoned_) return;
        MUST(cuMemFree_v2(input_));
        if (stream_ != nullptr && stream_ != CU_STREAM_PER_THREAD) MUST(cuStreamDestroy_v2(stream_));
    }

    /// Uploads squares, every fifth value negative unless there must be none. Each run gets different
    /// numbers.
    void upload(int number, bool has_negatives = true) {
        const auto step = static_cast<float>(number + 1);
        float values[kRows * kColumns];
        for (int i = 0; i < kRows * kColumns; ++i) {
            const float root = static_cast<float>(i % 4) * step;
            values[i] = has_negatives && i % 5 == 3 ? -step : root * root;
        }
        MUST(cuMemcpyHtoDAsync_v2(input_, values, sizeof(values), stream_));
    }

    /// With `single`, the run neither records an end event nor waits for one, which would be unsafe during a
    /// capture.
    void run(bool single = false) { run_with(input_, single); }

    /// Does the same with the input of another worker.
    void run_with(CUdeviceptr input, bool single = false) {
        forget_outputs();
        const int64_t sizes[] = {kRows, kColumns};
        const int64_t strides[] = {kColumns, 1};
        AtenTensorHandle handle = nullptr;
        torch_.from_blob(reinterpret_cast<void*>(input), 2, sizes, strides, 0, 6, 1, 0, &handle, 0, nullptr,
                         0);
        if (model_.run(&handle, 1, outputs_, 3, stream_, single) != 0) {
            if (cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS) end_by_fault();
            std::printf("a run failed\n");
            std::exit(96);
        }
    }

    /// Waits for the stream and returns a hash of the outputs.
    std::uint64_t fetch() {
        Fetched all;
        const size_t element[] = {4, 8, 1};
        for (size_t i = 0; i < 3; ++i) {
            void* data = nullptr;
            torch_.data(outputs_[i], &data);
            std::vector<unsigned char> bytes(static_cast<size_t>(torch_.elements(outputs_[i])) * element[i]);
            MUST(cuMemcpyDtoHAsync_v2(bytes.data(), reinterpret_cast<CUdeviceptr>(data), bytes.size(),
                                      stream_));
            MUST(cuStreamSynchronize(stream_));
            all.add(bytes);
        }
        return all.hash;
    }

    void forget_outputs() {
        for (AtenTensorHandle& output : outputs_) {
            if (output != nullptr) torch_.forget(output);
            output = nullptr;
        }
    }

    /// Marks that the context, and everything in it, was destroyed.
    void abandon() { is_abandoned_ = true; }

    [[nodiscard]] CUstream stream() const { return stream_; }
    [[nodiscard]] CUdeviceptr input() const { return input_; }

  private:
    const Torch& torch_;
    const Model& model_;
    CUstream stream_;
    CUdeviceptr input_ = 0;
    AtenTensorHandle outputs_[3] = {};
    bool is_abandoned_ = false;
};

}  // namespace victim

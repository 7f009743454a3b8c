// The object behind a tensor handle of the fake libtorch: a layout over a storage on the host or the device.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/fakes/torch/fake_torch.h"

namespace fake_torch {

constexpr int32_t kInt64 = 4;
constexpr int32_t kFloat32 = 6;
constexpr int32_t kBool = 11;
constexpr int32_t kCpu = 0;
constexpr int32_t kCuda = 1;

/// Memory that tensors share. The last of them returns it to its allocator.
struct Storage {
    std::shared_ptr<void> memory;
    int64_t bytes = 0;
};

}  // namespace fake_torch

struct AtenTensorOpaque {
    std::shared_ptr<fake_torch::Storage> storage;
    float* data = nullptr;  // address of the first element, whatever its dtype
    int64_t elements = 0;
    int64_t offset = 0;
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
    int32_t dtype = fake_torch::kFloat32;
    int32_t device_type = fake_torch::kCpu;
    int32_t device_index = -1;
};

namespace fake_torch {

int64_t element_bytes(int32_t dtype);
/// Returns the distance from the first element past the last, in elements.
int64_t extent(int64_t dims, const int64_t* sizes, const int64_t* strides);

AtenTensorHandle make(std::shared_ptr<Storage> storage, int64_t dims, const int64_t* sizes,
                      const int64_t* strides, int64_t offset, int32_t dtype, int32_t device_type,
                      int32_t device_index);

std::shared_ptr<Storage> allocate_on_host(int64_t bytes);
/// Allocates from segments that stay with the process, like a caching allocator. The block freed last on the
/// calling thread's current stream is reused first on that stream, with its contents. Returns nullptr without
/// a driver.
std::shared_ptr<Storage> allocate_on_device(int64_t bytes, int32_t device);

/// Launches a kernel as cuBLAS would: through the driver found at run time, with its own handle. Does nothing
/// without a driver.
void launch_library_kernel();

}  // namespace fake_torch

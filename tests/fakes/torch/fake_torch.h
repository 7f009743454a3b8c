// Declares the few functions of the AOTI C shim that the fake implements, with the signatures of PyTorch's
// headers, and the fake's own functions. Tests must build without torch. There is no implementation here.
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

struct AtenTensorOpaque;
using AtenTensorHandle = AtenTensorOpaque*;
using AOTITorchError = int32_t;
using StableIValue = uint64_t;
struct CUDAStreamGuardOpaque;
using CUDAStreamGuardHandle = CUDAStreamGuardOpaque*;
struct AOTIProxyExecutorOpaque;
using AOTIProxyExecutorHandle = AOTIProxyExecutorOpaque*;

bool aoti_torch_grad_mode_is_enabled();
void aoti_torch_grad_mode_set_enabled(bool enabled);
int32_t aoti_torch_dtype_float32();
int32_t aoti_torch_dtype_int64();
int32_t aoti_torch_dtype_bool();
int32_t aoti_torch_device_type_cpu();
int32_t aoti_torch_device_type_cuda();
AOTITorchError aoti_torch_create_cuda_stream_guard(void* stream, int32_t device,
                                                   CUDAStreamGuardHandle* guard);
AOTITorchError aoti_torch_delete_cuda_stream_guard(CUDAStreamGuardHandle guard);
AOTITorchError aoti_torch_get_current_cuda_stream(int32_t device, void** stream);

AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle tensor, void** data);
AOTITorchError aoti_torch_get_dim(AtenTensorHandle tensor, int64_t* dim);
AOTITorchError aoti_torch_get_numel(AtenTensorHandle tensor, int64_t* elements);
AOTITorchError aoti_torch_get_sizes(AtenTensorHandle tensor, int64_t** sizes);
AOTITorchError aoti_torch_get_strides(AtenTensorHandle tensor, int64_t** strides);
AOTITorchError aoti_torch_get_dtype(AtenTensorHandle tensor, int32_t* dtype);
AOTITorchError aoti_torch_get_device_type(AtenTensorHandle tensor, int32_t* type);
AOTITorchError aoti_torch_get_device_index(AtenTensorHandle tensor, int32_t* index);
AOTITorchError aoti_torch_get_storage_offset(AtenTensorHandle tensor, int64_t* offset);
AOTITorchError aoti_torch_get_storage_size(AtenTensorHandle tensor, int64_t* bytes);
AOTITorchError aoti_torch_empty_strided(int64_t dims, const int64_t* sizes, const int64_t* strides,
                                        int32_t dtype, int32_t device_type, int32_t device_index,
                                        AtenTensorHandle* made);
AOTITorchError aoti_torch_create_tensor_from_blob_v2(void* data, int64_t dims, const int64_t* sizes,
                                                     const int64_t* strides, int64_t offset, int32_t dtype,
                                                     int32_t device_type, int32_t device_index,
                                                     AtenTensorHandle* made, int32_t layout,
                                                     const uint8_t* metadata, int64_t metadata_size);
AOTITorchError aoti_torch__reinterpret_tensor(AtenTensorHandle self, int64_t dims, const int64_t* sizes,
                                              const int64_t* strides, int64_t offset, AtenTensorHandle* made);
AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle tensor);
void aoti_torch_print_tensor_handle(AtenTensorHandle tensor, const char* text);

AOTITorchError aoti_torch_cpu_addmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat1,
                                        AtenTensorHandle mat2, double beta, double alpha);
AOTITorchError aoti_torch_cpu_sort_stable(AtenTensorHandle self, int32_t* stable, int64_t dim,
                                          int32_t descending, AtenTensorHandle* values,
                                          AtenTensorHandle* indices);
AOTITorchError aoti_torch_cuda_sort_stable(AtenTensorHandle self, int32_t* stable, int64_t dim,
                                           int32_t descending, AtenTensorHandle* values,
                                           AtenTensorHandle* indices);
AOTITorchError aoti_torch_cpu_cat(const AtenTensorHandle* tensors, int64_t count, int64_t dim,
                                  AtenTensorHandle* made);
/// Throws std::runtime_error if the first element is kThrowAt.
AOTITorchError aoti_torch_cpu_abs(AtenTensorHandle self, AtenTensorHandle* made);
/// Represents a function newer than any table, because no torch release has it. Returns 1 if the first
/// element is kFailAt.
AOTITorchError aoti_torch_cpu_neg(AtenTensorHandle self, AtenTensorHandle* made);
AOTITorchError aoti_torch_cuda_addmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat1,
                                         AtenTensorHandle mat2, double beta, double alpha);
AOTITorchError aoti_torch_cuda_mm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2);
/// Launches `fake_library_kernel` itself if the process has a driver.
AOTITorchError aoti_torch_cuda_bmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2);
AOTITorchError aoti_torch_proxy_executor_call_function(AOTIProxyExecutorHandle executor, int index, int ints,
                                                       int64_t* int_args, int tensors,
                                                       AtenTensorHandle* tensor_args);
AOTITorchError aoti_torch_call_dispatcher(const char* op, const char* overload, StableIValue* stack);

/// Counts one more call of the process. Ends the process if the count, from 1, is FAKE_TORCH_DIE_AT: by the
/// signal FAKE_TORCH_DIE_BY (11, 6, 9, ...), or by _exit(7) for 0, exit(8) for -1, quick_exit(9) for -2. Not
/// part of torch.
void fake_torch_enter_call();
uint64_t fake_torch_calls();
int64_t fake_torch_elements(AtenTensorHandle tensor);
/// Forgets what was allocated and loaded on devices, as if the process had just started, because their
/// contexts are destroyed. No tensor on a device may be in use.
void fake_torch_forget_devices();
}

constexpr float kThrowAt = -12345.0F;
constexpr float kFailAt = -54321.0F;

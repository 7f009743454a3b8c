// Declares what the lean runtime has besides the shim functions of fake_torch.h: more shim functions, and the
// functions that its loader calls. There is no implementation here.
#pragma once

#include "tests/fakes/torch/fake_torch.h"

extern "C" {

AOTITorchError aoti_torch_cpu_mm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2);
/// No torch release has these two: they are ops of the runtime's own.
AOTITorchError aoti_torch_cpu_int8_plain_mm(AtenTensorHandle self, AtenTensorHandle weight,
                                            AtenTensorHandle* made);
AOTITorchError aoti_torch_cuda_int8_plain_mm(AtenTensorHandle self, AtenTensorHandle weight,
                                             AtenTensorHandle* made);
/// The lean runtime has no such function, and models may import it without calling it.
AOTITorchError aoti_torch_cpu_bmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2);

/// Returns a contiguous float tensor with these elements, on the host or the device.
AtenTensorHandle lean_make(const float* values, int64_t rows, int64_t columns, int32_t device_type);
/// Copies all elements of a contiguous tensor to the host.
void lean_read(AtenTensorHandle tensor, float* values);
int64_t lean_elements(AtenTensorHandle tensor);
void lean_delete(AtenTensorHandle tensor);
/// Returns the number of tensors that exist.
int64_t lean_tensors();
}

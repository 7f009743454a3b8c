// Tensors that are nothing but counted, deleted by the function of the AOTI shim that deletes them.
#pragma once

#include <cstdint>

extern "C" {
void* make_counted_tensor();
int living_tensors();
std::int32_t aoti_torch_delete_tensor_object(void* tensor);
}

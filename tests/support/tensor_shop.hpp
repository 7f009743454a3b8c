// Fake tensors that only count. The AOTI shim's delete function deletes them.
#pragma once

#include <cstdint>

extern "C" {
void* make_counted_tensor();
int living_tensors();
std::int32_t aoti_torch_delete_tensor_object(void* tensor);
}

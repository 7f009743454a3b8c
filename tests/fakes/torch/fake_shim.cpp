// Replaces libtorch_cpu.so on the host, with the real names and signatures of the AOTI C shim. Results are
// deterministic. It must not use the library under test and must not link a driver.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "tests/fakes/torch/fake_tensor.hpp"

namespace {

thread_local bool grad_mode = true;
std::atomic<uint64_t> calls{0};

/// Creates a contiguous float tensor on the host.
AtenTensorHandle make_tensor(int64_t elements) {
    const int64_t stride = 1;
    return fake_torch::make(fake_torch::allocate_on_host(elements * 4), 1, &elements, &stride, 0,
                            fake_torch::kFloat32, fake_torch::kCpu, -1);
}

template <typename Function>
AtenTensorHandle mapped(AtenTensorHandle self, Function function) {
    AtenTensorHandle made = make_tensor(self->elements);
    std::transform(self->data, self->data + self->elements, made->data, function);
    return made;
}

long number_from_environment(const char* name) {
    const char* text = getenv(name);
    return text == nullptr ? -1 : strtol(text, nullptr, 10);
}

[[noreturn]] void die(long by) {
    if (by == 0) _exit(7);
    if (by == -1) exit(8);
    if (by == -2) quick_exit(9);
    if (by == SIGABRT) abort();
    if (by == SIGSEGV) {
        volatile int* volatile nowhere = nullptr;
        *nowhere = 1;  // NOLINT(clang-analyzer-core.NullDereference): the crash is intended
    }
    raise(static_cast<int>(by));
    for (;;)
        pause();
}

}  // namespace

extern "C" {

void fake_torch_enter_call() {
    static const long die_at = number_from_environment("FAKE_TORCH_DIE_AT");
    static const long die_by = number_from_environment("FAKE_TORCH_DIE_BY");
    const uint64_t number = calls.fetch_add(1) + 1;
    if (die_at > 0 && number == static_cast<uint64_t>(die_at)) die(die_by);
    static const long hang_at = number_from_environment("FAKE_TORCH_HANG_AT");
    while (hang_at > 0 && number == static_cast<uint64_t>(hang_at))
        pause();
}

uint64_t fake_torch_calls() {
    return calls.load();
}

uint64_t aoti_torch_abi_version() {
    const long minor = number_from_environment("FAKE_TORCH_MINOR");
    return 2ULL << 56U | static_cast<uint64_t>(minor < 0 ? 11 : minor) << 48U | 1ULL << 40U;
}

bool aoti_torch_grad_mode_is_enabled() {
    return grad_mode;
}

void aoti_torch_grad_mode_set_enabled(bool enabled) {
    grad_mode = enabled;
}

AOTITorchError aoti_torch_empty_strided(int64_t dims, const int64_t* sizes, const int64_t* strides,
                                        int32_t dtype, int32_t device_type, int32_t device_index,
                                        AtenTensorHandle* made) {
    const int64_t bytes = fake_torch::extent(dims, sizes, strides) * fake_torch::element_bytes(dtype);
    const bool on_device = device_type == fake_torch::kCuda;
    std::shared_ptr<fake_torch::Storage> storage =
        on_device ? fake_torch::allocate_on_device(bytes, device_index) : fake_torch::allocate_on_host(bytes);
    if (storage == nullptr) return 1;
    *made = fake_torch::make(std::move(storage), dims, sizes, strides, 0, dtype, device_type,
                             on_device ? device_index : -1);
    return 0;
}

void aoti_torch_print_tensor_handle(AtenTensorHandle tensor, const char* text) {
    std::printf("[  %s  ]:\nNumber of elements: %lld\n", text, static_cast<long long>(tensor->elements));
}

AOTITorchError aoti_torch_cpu_addmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat1,
                                        AtenTensorHandle mat2, double beta, double alpha) {
    fake_torch_enter_call();
    for (int64_t i = 0; i < out->elements; ++i) {
        const double added = beta * static_cast<double>(self->data[i % self->elements]);
        const double multiplied = static_cast<double>(mat1->data[i % mat1->elements]) *
                                  static_cast<double>(mat2->data[i % mat2->elements]);
        out->data[i] = static_cast<float>(added + alpha * multiplied);
    }
    return 0;
}

AOTITorchError aoti_torch_cpu_sort_stable(AtenTensorHandle self, int32_t* stable, int64_t /*dim*/,
                                          int32_t descending, AtenTensorHandle* values,
                                          AtenTensorHandle* indices) {
    fake_torch_enter_call();
    if (stable == nullptr || *stable != 1) return 1;
    *values = mapped(self, [](float value) { return value; });
    *indices = make_tensor(self->elements);
    std::stable_sort((*values)->data, (*values)->data + self->elements);
    if (descending != 0) std::reverse((*values)->data, (*values)->data + self->elements);
    for (int64_t i = 0; i < self->elements; ++i)
        (*indices)->data[i] = static_cast<float>(i);
    return 0;
}

AOTITorchError aoti_torch_cpu_cat(const AtenTensorHandle* tensors, int64_t count, int64_t /*dim*/,
                                  AtenTensorHandle* made) {
    fake_torch_enter_call();
    int64_t elements = 0;
    for (int64_t i = 0; i < count; ++i)
        elements += tensors[i]->elements;
    *made = make_tensor(elements);
    float* next = (*made)->data;
    for (int64_t i = 0; i < count; ++i)
        next = std::copy_n(tensors[i]->data, tensors[i]->elements, next);
    return 0;
}

AOTITorchError aoti_torch_cpu_abs(AtenTensorHandle self, AtenTensorHandle* made) {
    fake_torch_enter_call();
    if (self->data[0] == kThrowAt) throw std::runtime_error("abs was told to throw");
    *made = mapped(self, [](float value) { return std::fabs(value); });
    errno = ERANGE;  // a caller must still find this, even if the library inspects the call
    return 0;
}

AOTITorchError aoti_torch_cpu_neg(AtenTensorHandle self, AtenTensorHandle* made) {
    fake_torch_enter_call();
    if (self->data[0] == kFailAt) return 1;
    *made = mapped(self, [](float value) { return -value; });
    return 0;
}

AOTITorchError aoti_torch_cuda_mm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2) {
    fake_torch_enter_call();
    for (int64_t i = 0; i < out->elements; ++i)
        out->data[i] = self->data[i % self->elements] * mat2->data[i % mat2->elements];
    return 0;
}

AOTITorchError aoti_torch_cuda_bmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat2) {
    fake_torch::launch_library_kernel();
    fake_torch_enter_call();
    for (int64_t i = 0; i < out->elements; ++i)
        out->data[i] = self->data[i % self->elements] + mat2->data[i % mat2->elements];
    return 0;
}

AOTITorchError aoti_torch_proxy_executor_call_function(AOTIProxyExecutorHandle /*executor*/, int index,
                                                       int ints, int64_t* int_args, int tensors,
                                                       AtenTensorHandle* tensor_args) {
    fake_torch_enter_call();
    if (ints != 1 || tensors != 2) return 1;
    for (int64_t i = 0; i < tensor_args[0]->elements; ++i) {
        const auto number = static_cast<float>(int_args[0]);
        const float value = tensor_args[0]->data[i];
        tensor_args[1]->data[i] = index == 0 ? value * number : value + number;
    }
    return 0;
}

AOTITorchError aoti_torch_call_dispatcher(const char* op, const char* overload, StableIValue* stack) {
    fake_torch_enter_call();
    if (strcmp(op, "mylib::shift") != 0 || strcmp(overload, "default") != 0) return 1;
    auto* tensor = reinterpret_cast<AtenTensorHandle>(stack[0]);
    for (int64_t i = 0; i < tensor->elements; ++i)
        tensor->data[i] += 0.5F;
    return 0;
}

}  // extern "C"

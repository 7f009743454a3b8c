// The fake model's readable kernels. As in a real package, this file is compiled into the model and is stored
// beside it. FAKE_FACTOR makes kernels of the same names compute something else.
#include <cstdint>

#ifndef FAKE_FACTOR
#define FAKE_FACTOR 1
#endif

extern "C" void fake_torch_enter_call();

extern "C" void cpp_fused_relu_0(float* in_out_ptr0, const float* in_ptr0, const int64_t ks0) {
    fake_torch_enter_call();
    for (int64_t x0 = 0; x0 < ks0; ++x0) {
        const float sum = in_out_ptr0[x0] + in_ptr0[x0];
        in_out_ptr0[x0] = sum > 0 ? sum * FAKE_FACTOR : 0;
    }
}

extern "C" void cpp_fused_mul_1(const float* in_ptr0, const float* in_ptr1, const float* in_ptr2,
                                float* out_ptr0, float* out_ptr1, const int64_t ks0, const int64_t ks1,
                                const int64_t ks2, const int64_t ks3) {
    fake_torch_enter_call();
    for (int64_t x0 = 0; x0 < ks0; ++x0) {
        out_ptr0[x0] = in_ptr0[x0] * static_cast<float>(ks1) + in_ptr1[x0] * static_cast<float>(ks2);
        out_ptr1[x0] = in_ptr2[x0] * static_cast<float>(ks3);
    }
}

extern "C" void cpp_fused_mixed_2(const float* in_ptr0, const double ks0, const int64_t ks1, const double ks2,
                                  const int64_t ks3, const float* in_ptr1, const double ks4,
                                  const int64_t ks5, const double ks6, float* out_ptr0, const int64_t ks7,
                                  const int64_t ks8) {
    fake_torch_enter_call();
    for (int64_t x0 = 0; x0 < ks1; ++x0) {
        const double first = in_ptr0[x0] * ks0 + ks2 * static_cast<double>(ks3);
        const double second = in_ptr1[x0] * ks4 + ks6 * static_cast<double>(ks5);
        out_ptr0[x0] = static_cast<float>(first + second + static_cast<double>(ks7 - ks8));
    }
}

extern "C" void cpp_fused_doubles_3(const float* in_ptr0, float* out_ptr0, const int64_t ks0,
                                    const double ks1, const double ks2, const double ks3, const double ks4,
                                    const double ks5, const double ks6, const double ks7, const double ks8,
                                    const double ks9) {
    fake_torch_enter_call();
    for (int64_t x0 = 0; x0 < ks0; ++x0) {
        const double value = in_ptr0[x0];
        out_ptr0[x0] = static_cast<float>(value * ks1 + ks2 - ks3 * 2 + ks4 * 3 - ks5 * 4 + ks6 * 5 -
                                          ks7 * 6 + ks8 * 7 - ks9 * 8);
    }
}

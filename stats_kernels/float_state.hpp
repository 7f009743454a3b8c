// Sets the floating-point state for our arithmetic: default rounding, denormals enabled, no traps. Restores
// the caller's mode and sticky flags afterwards, because the program may use them.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace aoti_dbg {

class DefaultFloatState {
  public:
#if defined(__x86_64__)
    DefaultFloatState() : kept_(_mm_getcsr()) {
        constexpr unsigned kFlags = 0x3fU;  // of past operations
        if ((kept_ & ~kFlags) != kDefault) _mm_setcsr(kDefault);
    }
    // Most threads have nothing to restore, and reading the register is much faster than writing it.
    ~DefaultFloatState() {
        if (_mm_getcsr() != kept_) _mm_setcsr(kept_);
    }
#elif defined(__aarch64__)
    DefaultFloatState() {
        asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(kept_), "=r"(kept_status_));
        asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}));
    }
    ~DefaultFloatState() {
        asm volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(kept_), "r"(kept_status_));
    }
#else
    DefaultFloatState() = default;
    ~DefaultFloatState() = default;
#endif
    DefaultFloatState(const DefaultFloatState&) = delete;
    DefaultFloatState& operator=(const DefaultFloatState&) = delete;

#if defined(__x86_64__)
  private:
    static constexpr unsigned kDefault = 0x1f80U;
    unsigned kept_;
#elif defined(__aarch64__)
  private:
    std::uint64_t kept_ = 0;
    std::uint64_t kept_status_ = 0;
#endif
};

}  // namespace aoti_dbg

/* The controls of the software driver for tests. No real driver has them: a program that must also run on one
 * looks them up with dlsym. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kernel number `launch` of the process faults, counted from 1 without graph launches. 0: none faults. */
void fake_cuda_fail_at(uint64_t launch);
/* Kernels launched so far in the process, without failed calls. */
uint64_t fake_cuda_launches(void);
/* Launches of fatbin kernels, which have no number and no callback. */
uint64_t fake_cuda_fatbin_launches(void);
/* Delays each kernel in its stream's thread. Launches still return at once. */
void fake_cuda_delay_us(uint64_t microseconds);
/* Starts nothing that waits on the stream (0: the current context's legacy stream) until it is released or
 * destroyed. */
void fake_cuda_hold_stream(void* stream);
void fake_cuda_release_stream(void* stream);
/* Launches of this kernel fail at the call with this result. NULL: none fails. */
void fake_cuda_refuse(const char* kernel, int result);
/* Of this thread's driver calls that require initialization, the call with this number from now on (counted
 * from 1) fails with this result and has no effect. 0: none fails. */
void fake_cuda_fail_call(uint64_t call, int result);
/* Whether that call is still pending. */
int fake_cuda_fails_yet(void);
/* Why the last fatbin kernel faulted, or "" if none has. The text stays valid. */
const char* fake_cuda_fault_text(void);
/* Sets a callback in the launching thread, inside each launch, with the kernel's name and launch number. */
void fake_cuda_on_launch(void (*callback)(const char* kernel, uint64_t launch));

/* What a profiler gets. A function is numbered as in CUPTI; a thread is the low half of pthread_self(); times
 * are in nanoseconds since the epoch. */
struct fake_cuda_profiler {
    void (*called)(uint32_t function, uint32_t correlation, uint32_t thread, uint64_t start, uint64_t end);
    void (*ran)(const char* kernel, uint32_t correlation, uint64_t start, uint64_t end);
};
/* NULL: there is no profiler. */
void fake_cuda_profile(const struct fake_cuda_profiler* profiler);

#ifdef __cplusplus
}
#endif

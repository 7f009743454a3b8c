/* What tests may ask of the software driver beyond CUDA. Not part of any real driver: look these up with
 * dlsym where a program must also run on one. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kernel number `launch` of the process (counted from 1, executions of graphs not counted) faults; 0: none.
 */
void fake_cuda_fail_at(uint64_t launch);
/* Kernels launched so far in the process, failed calls not counted. */
uint64_t fake_cuda_launches(void);
/* Launches of kernels out of a fatbin, which are no launches otherwise: no number, no callback. */
uint64_t fake_cuda_fatbin_launches(void);
/* Each kernel begins so much later, in its stream's own thread: launches return at once as before. */
void fake_cuda_delay_us(uint64_t microseconds);
/* Nothing that waits on the stream (0: the legacy stream of the current context) is begun until it is
 * released, or destroyed. */
void fake_cuda_hold_stream(void* stream);
void fake_cuda_release_stream(void* stream);
/* Launches of this kernel fail at the call, with this result; NULL: none does. */
void fake_cuda_refuse(const char* kernel, int result);
/* Of this thread's calls of the driver that need it to be initialised, the one with this number from now on
 * (counted from 1) fails with this result and does nothing; 0: none does. */
void fake_cuda_fail_call(uint64_t call, int result);
/* Whether that call is still to come. */
int fake_cuda_fails_yet(void);
/* Why the last kernel of a fatbin faulted; "" while none has. Stays valid. */
const char* fake_cuda_fault_text(void);
/* Called in the launching thread, inside each launch, with the kernel's name and the launch's number. */
void fake_cuda_on_launch(void (*callback)(const char* kernel, uint64_t launch));

#ifdef __cplusplus
}
#endif

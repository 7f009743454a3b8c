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
/* Called in the launching thread, inside each launch, with the kernel's name and the launch's number. */
void fake_cuda_on_launch(void (*callback)(const char* kernel, uint64_t launch));

#ifdef __cplusplus
}
#endif

// Lets the host's compiler and nvcc share one header, so that no definition exists twice. Headers that use
// AOTI_DBG_HOST_DEVICE may use only <cstdint> and <cstddef> of the standard library.
#pragma once

#ifdef __CUDACC__
#define AOTI_DBG_HOST_DEVICE __host__ __device__
#else
#define AOTI_DBG_HOST_DEVICE
#endif

// For functions that are compiled several times for the host with different instructions. An out-of-line copy
// could replace all others at link time.
#define AOTI_DBG_ALWAYS_INLINE __attribute__((always_inline))

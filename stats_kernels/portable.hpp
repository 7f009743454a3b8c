// What lets one header serve the host's compiler and nvcc: the definition must not exist twice.
// Headers that say AOTI_DBG_HOST_DEVICE use nothing of the standard library but <cstdint> and <cstddef>.
#pragma once

#ifdef __CUDACC__
#define AOTI_DBG_HOST_DEVICE __host__ __device__
#else
#define AOTI_DBG_HOST_DEVICE
#endif

// For what is compiled more than once for the host, with different instructions: a copy of its own in an
// object file might be the one that the linker takes for all.
#define AOTI_DBG_ALWAYS_INLINE __attribute__((always_inline))

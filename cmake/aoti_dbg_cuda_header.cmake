# Finds cuda.h, the only part of the CUDA Toolkit that the library uses, for the types of driver functions.
# Looks in the toolkit first, then in torch's NVIDIA wheels (AOTI_DBG_TORCH_PYTHON).
find_package(CUDAToolkit QUIET)
set(hints ${CUDAToolkit_INCLUDE_DIRS} /usr/local/cuda/include)
set(AOTI_DBG_TORCH_PYTHON "" CACHE FILEPATH "A Python that has torch; scripts/setup makes one")
if(AOTI_DBG_TORCH_PYTHON)
  get_filename_component(venv_bin ${AOTI_DBG_TORCH_PYTHON} DIRECTORY)
  file(GLOB wheel_includes ${venv_bin}/../lib/python*/site-packages/nvidia/*/include)
  list(APPEND hints ${wheel_includes})
endif()
# When pip builds a wheel, its build environment is a prefix.
foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
  file(GLOB wheel_includes ${prefix}/nvidia/*/include)
  list(APPEND hints ${wheel_includes})
endforeach()
find_path(AOTI_DBG_CUDA_INCLUDE cuda.h HINTS ${hints})
if(NOT AOTI_DBG_CUDA_INCLUDE)
  message(FATAL_ERROR
    "cuda.h was not found. Install the CUDA Toolkit (12.4 or later), or run scripts/setup and configure with "
    "-DAOTI_DBG_TORCH_PYTHON=<its python>, or pass -DAOTI_DBG_CUDA_INCLUDE=<folder of cuda.h>.")
endif()
add_library(aoti_dbg_cuda_header INTERFACE)
target_include_directories(aoti_dbg_cuda_header SYSTEM INTERFACE ${AOTI_DBG_CUDA_INCLUDE})
# The header of a wheel is in a home directory, which debug information must not name.
if(NOT AOTI_DBG_CUDA_INCLUDE MATCHES "^/usr/")
  target_compile_options(aoti_dbg_cuda_header INTERFACE
    $<$<COMPILE_LANGUAGE:C,CXX>:-ffile-prefix-map=${AOTI_DBG_CUDA_INCLUDE}=cuda>)
endif()

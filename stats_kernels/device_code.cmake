# Compiles the kernels into fatbins, which device_code.S embeds. Without nvcc the library has no device code, and these
# are empty. No library of the toolkit is linked.
find_package(CUDAToolkit QUIET)
find_program(AOTI_DBG_NVCC nvcc HINTS ${CUDAToolkit_BIN_DIR} /usr/local/cuda/bin)
# A GPU runs code for an older capability of its major version: 8.6 and 8.9 run that for 8.0.
set(capabilities "75;80;90;100;120")
# What is not shipped is compiled for one: all of them take minutes.
if((AOTI_DBG_SANITIZE AND NOT AOTI_DBG_RELEASE_BUILD) OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(capabilities 90)
endif()
set(AOTI_DBG_CUDA_ARCHITECTURES "${capabilities}" CACHE STRING
  "Compute capabilities to compile for; those that nvcc does not know are left out, the newest is there as PTX too")

if(NOT AOTI_DBG_NVCC)
  message(STATUS "nvcc was not found: tensors on a GPU will have no statistics and will not be saved")
  return()
endif()

execute_process(COMMAND ${AOTI_DBG_NVCC} --list-gpu-arch
  OUTPUT_VARIABLE known OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(targets "")
set(newest "")
foreach(capability IN LISTS AOTI_DBG_CUDA_ARCHITECTURES)
  if(known MATCHES "compute_${capability}(\n|$)")
    list(APPEND targets -gencode arch=compute_${capability},code=sm_${capability})
    set(newest ${capability})
    # For `aoti-dbg --version`: 120 is 12.0.
    string(REGEX REPLACE "(.)$" ".\\1" capability ${capability})
    set_property(GLOBAL APPEND PROPERTY AOTI_DBG_CAPABILITIES ${capability})
  endif()
endforeach()
if(NOT newest)
  message(FATAL_ERROR "nvcc knows none of AOTI_DBG_CUDA_ARCHITECTURES=${AOTI_DBG_CUDA_ARCHITECTURES}")
endif()
list(APPEND targets -gencode arch=compute_${newest},code=compute_${newest})

# Compressed, in the way that every driver can undo: a fifth of the size.
set(fatbins "")
set(folder ${CMAKE_CURRENT_BINARY_DIR})
if(AOTI_DBG_RELEASE_BUILD)
  set(folder ${AOTI_DBG_RELEASE_BUILD}/stats_kernels)
endif()
foreach(kernel IN ITEMS statistics save time)
  set(fatbin ${folder}/${kernel}.fatbin)
  list(APPEND fatbins ${fatbin})
  if(AOTI_DBG_RELEASE_BUILD)
    continue()
  endif()
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${kernel}.cu)
  add_custom_command(OUTPUT ${fatbin}
    COMMAND ${AOTI_DBG_NVCC_LAUNCHER} ${AOTI_DBG_NVCC} -std=c++20 -O3 -Werror all-warnings -I ${CMAKE_SOURCE_DIR} ${targets}
      --threads 0 -Xfatbin -compress-all -MD -MF ${fatbin}.d -MT ${fatbin} -c -fatbin -o ${fatbin} ${source}
    DEPENDS ${source} DEPFILE ${fatbin}.d
    COMMENT "Compiling ${kernel}.cu for ${AOTI_DBG_CUDA_ARCHITECTURES}" VERBATIM)
endforeach()
target_sources(aoti_dbg_stats_kernels PRIVATE ${fatbins})
# The assembler looks for them there.
set_source_files_properties(device_code.S PROPERTIES
  COMPILE_DEFINITIONS AOTI_DBG_FATBINS COMPILE_OPTIONS "-Wa,-I,${folder}" OBJECT_DEPENDS "${fatbins}")

# Who may include whom: cmake -DROOT=<source tree> -P layers.cmake. Reads #include lines, nothing else.
# Add a folder by adding its line here. Lists every breach, then fails.
cmake_minimum_required(VERSION 3.22)

set(may_base "")
set(may_config base)
set(may_stats_kernels base)
set(may_serializer base stats_kernels)
set(may_model base)
set(may_shim base config stats_kernels serializer model)
set(may_cli base config stats_kernels serializer model)
set(folders base config stats_kernels serializer model shim cli)

# Headers of vendors, by how their names begin, and the one folder where they may be.
set(vendor_shim "^(cuda\\.h|cudaTypedefs\\.h|cupti|torch/|ATen/|c10/)")
set(vendor_stats_kernels "^(cuda_runtime|cub/|thrust/|cuda/)")

set(breaches 0)
macro(breach text)
  math(EXPR breaches "${breaches} + 1")
  message(NOTICE "${file}: ${text}")
endmacro()

foreach(folder ${folders})
  file(GLOB_RECURSE files RELATIVE ${ROOT}
    ${ROOT}/${folder}/*.hpp ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.c
    ${ROOT}/${folder}/*.cu ${ROOT}/${folder}/*.cuh ${ROOT}/${folder}/*.inc ${ROOT}/${folder}/*.def
    ${ROOT}/${folder}/*.S)
  foreach(file ${files})
    file(STRINGS ${ROOT}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
    foreach(line IN LISTS lines)
      string(REGEX MATCH "[<\"]([^>\"]+)[>\"]" unused "${line}")
      set(header "${CMAKE_MATCH_1}")
      string(REGEX MATCH "^[^/]+" top "${header}")
      foreach(edge shim stats_kernels)
        if(header MATCHES "${vendor_${edge}}" AND NOT folder STREQUAL edge)
          breach("<${header}> is a vendor's header, which only ${edge}/ may include")
        endif()
      endforeach()
      if(top IN_LIST folders AND NOT top STREQUAL folder AND NOT top IN_LIST may_${folder})
        breach("\"${header}\" is out of reach for ${folder}/")
      elseif(line MATCHES "\"" AND NOT top IN_LIST folders AND NOT header MATCHES "${vendor_shim}")
        breach("\"${header}\": own headers are named from the root, others go in <>")
      endif()
    endforeach()
  endforeach()
endforeach()

if(breaches GREATER 0)
  message(FATAL_ERROR "${breaches} includes against the layers of cmake/layers.cmake")
endif()

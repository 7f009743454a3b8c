# If ccache is installed, what an earlier build compiled is used again, whatever its folder. CMake's usual variable, or
# -DAOTI_DBG_CCACHE=, decides otherwise.
find_program(AOTI_DBG_CCACHE ccache DOC "Keeps the output of the compilers")
set(AOTI_DBG_NVCC_LAUNCHER "")
if(AOTI_DBG_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers need the sloppiness. They are the same if the headers are, whenever these were written.
  set(launcher env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime)
  # Debug information may name the folder. The kernels have none.
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher} CCACHE_HASHDIR=1 ${AOTI_DBG_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
  set(AOTI_DBG_NVCC_LAUNCHER ${launcher} CCACHE_NOHASHDIR=1 ${AOTI_DBG_CCACHE})
  # The compiler then gets paths relative to the build folder.
  file(RELATIVE_PATH root ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
  target_compile_options(aoti_dbg_flags INTERFACE $<$<COMPILE_LANGUAGE:C,CXX,ASM>:-ffile-prefix-map=${root}=>)
  add_compile_options(
    $<$<COMPILE_LANG_AND_ID:C,GNU>:-fpch-preprocess>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

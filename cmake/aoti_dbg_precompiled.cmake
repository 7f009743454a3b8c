# Precompiles the standard headers that most files include, once for each set of flags. CI configures a copy for
# clang-tidy with CMAKE_DISABLE_PRECOMPILE_HEADERS, which finds a missing include.
add_library(aoti_dbg_rare INTERFACE)
if(AOTI_DBG_SANITIZE MATCHES "address")
  # Clang takes half the time, and the sanitizers see code that an optimizer would remove.
  target_compile_options(aoti_dbg_rare INTERFACE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo>>:-O0>)
else()
  # g++ 13 reports an unset std::optional that is tested first, because it inlines less.
  target_compile_options(aoti_dbg_rare INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo>>:-Og>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
endif()

# By default g++ collects garbage as soon as it has read a precompiled header: a tenth of its time. Clang, which
# checks a build without precompiled headers, does not know the option.
if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>)
endif()

set(AOTI_DBG_HEADERS
  <algorithm> <array> <atomic> <cerrno> <charconv> <cstddef> <cstdint> <cstdio> <cstdlib> <cstring> <deque>
  <functional> <iterator> <map> <memory> <mutex> <optional> <set> <span> <string> <string_view> <unordered_map>
  <utility> <vector>)
foreach(kind fast rare)
  add_library(aoti_dbg_precompiled_${kind} OBJECT ${CMAKE_CURRENT_LIST_DIR}/precompiled.cpp)
  target_link_libraries(aoti_dbg_precompiled_${kind} PRIVATE aoti_dbg_flags)
  target_precompile_headers(aoti_dbg_precompiled_${kind} PRIVATE ${AOTI_DBG_HEADERS})
endforeach()
target_link_libraries(aoti_dbg_precompiled_rare PRIVATE aoti_dbg_rare)

# With precompiled headers GCC 12 reports overflows inside std::string that do not exist. Builds without them keep
# the warnings.
set(warnings "-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-restrict")
add_library(aoti_dbg_precompiled_warnings INTERFACE)
target_compile_options(aoti_dbg_precompiled_warnings INTERFACE
  "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<NOT:$<BOOL:${CMAKE_DISABLE_PRECOMPILE_HEADERS}>>>:${warnings}>")

# aoti_dbg_precompiled(target fast|rare): see aoti_dbg_library.
function(aoti_dbg_precompiled target kind)
  target_precompile_headers(${target} REUSE_FROM aoti_dbg_precompiled_${kind})
  target_link_libraries(${target} PRIVATE aoti_dbg_precompiled_warnings)
endfunction()

# aoti_dbg_small(a.cpp ...): rare sources that instantiate a JSON parser, which is three times as large with -Og. The
# precompiled headers do not fit -Os. They stay alone in every build, so that all builds put the same files together.
function(aoti_dbg_small)
  aoti_dbg_alone(${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" AND NOT AOTI_DBG_SANITIZE)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -Os SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

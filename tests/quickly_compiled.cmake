# Fakes and victims are compiled more often than they run: so they are optimized less, and have line tables instead of full
# debug information. Debug builds stay unchanged.
add_compile_options($<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<CONFIG:RelWithDebInfo>>:-O1$<SEMICOLON>-g1>)

# aoti_dbg_standard_headers(target): precompiles the standard headers that most fakes and victims include, with the flags
# of the target. Another target with these flags can reuse them. They took half of the time to compile a file.
function(aoti_dbg_standard_headers target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <cerrno> <chrono> <condition_variable>
      <csignal> <cstddef> <cstdint> <cstdio> <cstdlib> <cstring> <deque> <functional> <map> <memory> <mutex>
      <stdexcept> <string> <thread> <utility> <vector>)
  endif()
endfunction()
function(aoti_dbg_reuse_standard_headers target from)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_precompile_headers(${target} REUSE_FROM ${from})
    target_link_libraries(${target} PRIVATE aoti_dbg_precompiled_warnings)
  endif()
endfunction()

# Compiler flags that all our targets share, and the only way to declare a folder's library.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

set(AOTI_DBG_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, for example address,undefined or thread")
set(AOTI_DBG_SANITIZE_FLAGS "")
set(AOTI_DBG_SANITIZER_RUNTIME "") # its shared library
if(AOTI_DBG_SANITIZE)
  set(AOTI_DBG_SANITIZE_FLAGS -fsanitize=${AOTI_DBG_SANITIZE} -fno-omit-frame-pointer)
  if(AOTI_DBG_SANITIZE MATCHES "undefined")
    list(APPEND AOTI_DBG_SANITIZE_FLAGS -fno-sanitize-recover=undefined)
  endif()
  foreach(kind address thread)
    if(AOTI_DBG_SANITIZE MATCHES ${kind})
      string(REGEX REPLACE "^(.).*" "\\1san" runtime ${kind})
      if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        set(runtime lib${runtime}.so)
      else()
        set(runtime libclang_rt.${runtime}-${CMAKE_SYSTEM_PROCESSOR}.so)
      endif()
      execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${runtime}
        OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
      get_filename_component(AOTI_DBG_SANITIZER_RUNTIME "${runtime}" REALPATH)
    endif()
  endforeach()
endif()

# What a release build and a sanitized build compile alike is taken from this folder: the kernels, and for
# ThreadSanitizer the fakes, the victims and the command, which has no threads of its own.
set(AOTI_DBG_RELEASE_BUILD "" CACHE PATH "The folder of a complete release build, to save time in a sanitized build")
set(AOTI_DBG_BINARIES ${CMAKE_BINARY_DIR}) # the folder of fakes/, victims/ and the command
if(AOTI_DBG_RELEASE_BUILD AND AOTI_DBG_SANITIZE MATCHES "thread")
  set(AOTI_DBG_BINARIES ${AOTI_DBG_RELEASE_BUILD})
endif()
if(AOTI_DBG_BINARIES STREQUAL CMAKE_BINARY_DIR)
  set(AOTI_DBG_OWN_BINARIES ON)
else()
  set(AOTI_DBG_OWN_BINARIES OFF)
endif()

add_library(aoti_dbg_flags INTERFACE)
# Line tables and functions are the debug information that a report of a crash in the library needs. Types and
# variables would make the library four times as large. No file names a folder of the machine that built it.
target_compile_options(aoti_dbg_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wpedantic -Werror -Wshadow
    -fvisibility=hidden -fno-semantic-interposition>
  $<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<CONFIG:RelWithDebInfo>>:-g1 -ffunction-sections -fdata-sections>
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden -Wnon-virtual-dtor>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wredundant-decls>
  $<$<COMPILE_LANGUAGE:C,CXX>:${AOTI_DBG_SANITIZE_FLAGS}>)
target_link_options(aoti_dbg_flags INTERFACE ${AOTI_DBG_SANITIZE_FLAGS})
if(AOTI_DBG_SANITIZER_RUNTIME AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ does this by default: a program may load a sanitized library, and only one run-time library may exist.
  get_filename_component(folder ${AOTI_DBG_SANITIZER_RUNTIME} DIRECTORY)
  target_link_options(aoti_dbg_flags INTERFACE -shared-libsan -Wl,-rpath,${folder})
endif()
target_include_directories(aoti_dbg_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_link_libraries(aoti_dbg_flags INTERFACE Threads::Threads)

include(aoti_dbg_ccache)
include(aoti_dbg_precompiled)

# The compilers need about half the time for several files as one. So the names in the anonymous namespaces of a
# folder differ. CI compiles tests alone with ASan, and libraries alone in clang-tidy, which finds missing includes.
set(AOTI_DBG_TOGETHER libraries tests CACHE STRING "What is compiled several files at a time: libraries, tests")
set(AOTI_DBG_FILES_TOGETHER 10 CACHE STRING "The most files to compile as one; a large number finds equal names")
# aoti_dbg_together(target libraries|tests): compiles the sources of a folder together.
function(aoti_dbg_together target kind)
  if(NOT kind IN_LIST AOTI_DBG_TOGETHER)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  foreach(source IN LISTS sources)
    get_filename_component(folder ${source} DIRECTORY)
    # The folder's name is part of the debug information.
    string(REPLACE "${CMAKE_BINARY_DIR}/" "" folder "${folder}")
    string(MAKE_C_IDENTIFIER "_${folder}" folder)
    list(LENGTH sources${folder} number)
    list(APPEND sources${folder} ${source})
    math(EXPR group "${number} / ${AOTI_DBG_FILES_TOGETHER}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${folder}_${group}")
  endforeach()
endfunction()
# aoti_dbg_alone(a.cpp ...): these sources are compiled alone in every build. Outside the main source file, g++ forbids
# members whose types are in an anonymous namespace, because such a type might hide that of a header.
function(aoti_dbg_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# aoti_dbg_library(NAME base SOURCES a.cpp RARE_SOURCES b.cpp LINK aoti_dbg_config ...)
# Declares one static library per folder, aoti_dbg_<NAME>. Includes start at the root: "base/status.hpp".
# RARE_SOURCES: code that runs once or seldom. It is optimized less, which halves the time to compile it.
function(aoti_dbg_library)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;RARE_SOURCES;LINK" ${ARGN})
  set(target aoti_dbg_${ARG_NAME})
  add_library(${target} STATIC ${ARG_SOURCES})
  target_link_libraries(${target} PUBLIC aoti_dbg_flags ${ARG_LINK})
  aoti_dbg_precompiled(${target} fast)
  aoti_dbg_together(${target} libraries)
  if(ARG_RARE_SOURCES)
    add_library(${target}_rare OBJECT ${ARG_RARE_SOURCES})
    target_link_libraries(${target}_rare PRIVATE aoti_dbg_flags aoti_dbg_rare ${ARG_LINK})
    aoti_dbg_precompiled(${target}_rare rare)
    aoti_dbg_together(${target}_rare libraries)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_rare>)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
endfunction()

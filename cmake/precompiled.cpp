// Has no code. CMake compiles it to precompile the headers of cmake/aoti_dbg_precompiled.cmake.

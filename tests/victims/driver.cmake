# The victims that use only the driver, and libraries that interpose dlsym or cuGetProcAddress besides ours.
foreach(name driver_linked failed_call fault_window graph_capture hang marked memory_ways numbered_launches several_devices procaddr_linked)
  aoti_dbg_victim(${name} SOURCES ${name}.cpp LINK fake_cuda aoti_dbg_cuda_header)
endforeach()
foreach(name cuda_models cuda_lives unordered wrong_arguments)
  aoti_dbg_victim(${name} SOURCES ${name}.cpp LINK fake_cuda aoti_dbg_cuda_header)
  add_dependencies(${name} ${models} fake_torch_cpu)
endforeach()
foreach(name driver_dlopen exit_in_handler idle_parent runtime_road)
  aoti_dbg_victim(${name} SOURCES ${name}.cpp LINK aoti_dbg_cuda_header)
  add_dependencies(${name} fake_cuda)
endforeach()

# A chain: the program needs link 1, link 1 needs link 2, and the program opens link 3.
foreach(link 2 1 3)
  add_library(dlsym_chain_${link} SHARED dlsym_chain.cpp)
  target_compile_definitions(dlsym_chain_${link} PRIVATE CHAIN_LINK=${link})
  target_compile_options(dlsym_chain_${link} PRIVATE -Wall -Wextra -Wpedantic -Werror -Wshadow)
  target_link_libraries(dlsym_chain_${link} PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(dlsym_chain_${link} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fakes
    BUILD_RPATH "\$ORIGIN")
endforeach()
target_link_libraries(dlsym_chain_1 PRIVATE -Wl,--no-as-needed dlsym_chain_2)
aoti_dbg_victim(dlsym_semantics SOURCES dlsym_semantics.cpp LINK dlsym_chain_1)
set_target_properties(dlsym_semantics PROPERTIES ENABLE_EXPORTS ON)
add_dependencies(dlsym_semantics dlsym_chain_3)

foreach(name interposer_dlsym interposer_procaddr)
  add_library(${name} SHARED ${name}.cpp)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Werror -Wshadow -O2 -fno-omit-frame-pointer
    -foptimize-sibling-calls)
  target_link_libraries(${name} PRIVATE aoti_dbg_cuda_header ${CMAKE_DL_LIBS})
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/victims)
endforeach()

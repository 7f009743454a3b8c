# split_debug(FILE PREFIX OBJCOPY READELF): writes the debug information of FILE to
# PREFIX/lib/debug/.build-id/xx/yyyy.debug.
function(split_debug file prefix objcopy readelf)
  execute_process(COMMAND ${readelf} -n ${file} OUTPUT_VARIABLE notes COMMAND_ERROR_IS_FATAL ANY)
  if(NOT notes MATCHES "Build ID: ([0-9a-f][0-9a-f])([0-9a-f]+)")
    message(FATAL_ERROR "${file} has no build id. Link it with -Wl,--build-id.")
  endif()
  set(debug ${prefix}/lib/debug/.build-id/${CMAKE_MATCH_1}/${CMAKE_MATCH_2}.debug)
  get_filename_component(folder ${debug} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${objcopy} --only-keep-debug --compress-debug-sections ${file} ${debug}
    COMMAND_ERROR_IS_FATAL ANY)
  file(CHMOD ${debug} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()

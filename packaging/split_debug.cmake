# split_debug(FILE PREFIX KEPT OBJCOPY READELF): writes the debug information of FILE to
# PREFIX/lib/debug/.build-id/xx/yyyy.debug. The folder KEPT saves the work for the next package.
function(split_debug file prefix kept objcopy readelf)
  execute_process(COMMAND ${readelf} -n ${file} OUTPUT_VARIABLE notes COMMAND_ERROR_IS_FATAL ANY)
  if(NOT notes MATCHES "Build ID: ([0-9a-f][0-9a-f])([0-9a-f]+)")
    message(FATAL_ERROR "${file} has no build id. Link it with -Wl,--build-id.")
  endif()
  set(name ${CMAKE_MATCH_1}/${CMAKE_MATCH_2}.debug)
  if(NOT EXISTS ${kept}/${name})
    file(REMOVE_RECURSE ${kept}/partial)
    file(MAKE_DIRECTORY ${kept}/partial ${kept}/${CMAKE_MATCH_1})
    execute_process(COMMAND ${objcopy} --only-keep-debug --compress-debug-sections ${file} ${kept}/partial/debug
      COMMAND_ERROR_IS_FATAL ANY)
    file(RENAME ${kept}/partial/debug ${kept}/${name})
  endif()
  file(INSTALL ${kept}/${name} DESTINATION ${prefix}/lib/debug/.build-id/${CMAKE_MATCH_1}
    PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()

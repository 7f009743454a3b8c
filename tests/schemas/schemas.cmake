# Whether what aoti-dbg writes follows docs/schema, by a validator that is not ours. Only with a Python that has the
# package jsonschema, and only where all tests run.
set(AOTI_DBG_SCHEMA_PYTHON "" CACHE FILEPATH "A Python that has jsonschema; scripts/setup makes one")
set(AOTI_DBG_COLLECTED ${CMAKE_BINARY_DIR}/collected)

# aoti_dbg_schema_test(NAME what [ARGUMENTS ...] [AFTER fixture])
function(aoti_dbg_schema_test)
  cmake_parse_arguments(ARG "" "NAME;AFTER" "ARGUMENTS" ${ARGN})
  if(NOT AOTI_DBG_SCHEMA_PYTHON OR AOTI_DBG_SANITIZE OR NOT TARGET aoti_dbg)
    return()
  endif()
  add_test(NAME schemas.${ARG_NAME}
    COMMAND ${AOTI_DBG_SCHEMA_PYTHON} ${CMAKE_SOURCE_DIR}/tests/schemas/outputs_test.py ${ARG_ARGUMENTS})
  set_tests_properties(schemas.${ARG_NAME} PROPERTIES LABELS schemas TIMEOUT 600
    ENVIRONMENT "AOTI_DBGTEST_TOOL=$<TARGET_FILE:aoti_dbg_tool>;PYTHONDONTWRITEBYTECODE=1")
  if(ARG_AFTER)
    set_tests_properties(schemas.${ARG_NAME} PROPERTIES FIXTURES_REQUIRED ${ARG_AFTER})
  endif()
endfunction()

# aoti_dbg_collect(group test...): these tests `<group>.<test>` leave their JSON for the test `schemas.<group>`, which
# runs after them.
function(aoti_dbg_collect group)
  foreach(test IN LISTS ARGN)
    if(TEST ${group}.${test})
      set_property(TEST ${group}.${test} APPEND PROPERTY FIXTURES_SETUP ${group}_output)
      set_property(TEST ${group}.${test} APPEND PROPERTY
        ENVIRONMENT "AOTI_DBGTEST_COLLECT=${AOTI_DBG_COLLECTED}/${group}/${test}")
    endif()
  endforeach()
endfunction()

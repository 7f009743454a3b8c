# CPack reads this for each generator: which files go into its packages.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_ALL program debian dbgsym debian_dbgsym)
else()
  set(CPACK_COMPONENTS_ALL program anywhere dbgsym)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
endif()

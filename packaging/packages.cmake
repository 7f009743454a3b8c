# The packages of CPack: a .deb and a .tar.gz with the stripped program, and one of each with its debug
# information. scripts/packages runs and tests it. Set SOURCE_DATE_EPOCH for packages with the same bytes.
set(AOTI_DBG_PACKAGE_CONTACT "aoti-dbg maintainers <aoti-dbg@users.noreply.example.org>" CACHE STRING
  "Maintainer of the Debian package")

# The separated debug information, where gdb looks for it: lib/debug/.build-id. It must come from the program
# as built, before CPack strips it.
install(CODE "
  include(${CMAKE_CURRENT_SOURCE_DIR}/split_debug.cmake)
  foreach(file $<TARGET_FILE:aoti_dbg> $<TARGET_FILE:aoti_dbg_tool>)
    split_debug(\"\${file}\" \"\${CMAKE_INSTALL_PREFIX}\" \"${CMAKE_CURRENT_BINARY_DIR}/debug\"
      ${CMAKE_OBJCOPY} ${CMAKE_READELF})
  endforeach()
  " COMPONENT dbgsym EXCLUDE_FROM_ALL)

# What only Debian has: its changelog, its place for completions of zsh, and exceptions for lintian.
install(CODE "
  include(${CMAKE_CURRENT_SOURCE_DIR}/debian_files.cmake)
  debian_changelog(\"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${doc_folder}\" aoti-dbg ${PROJECT_VERSION}-1
    \"${AOTI_DBG_PACKAGE_CONTACT}\")
  gzipped(${CMAKE_SOURCE_DIR}/CHANGELOG.md
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${doc_folder}/changelog.gz\")
  " COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES ${AOTI_DBG_DESCRIBED}/_aoti-dbg DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
  COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES debian/lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME aoti-dbg
  COMPONENT debian EXCLUDE_FROM_ALL)
install(CODE "
  set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/doc\")
  file(MAKE_DIRECTORY \"\${folder}\")
  file(CREATE_LINK aoti-dbg \"\${folder}/aoti-dbg-dbgsym\" SYMBOLIC)
  " COMPONENT debian_dbgsym EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME aoti-dbg)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${AOTI_DBG_PACKAGE_CONTACT}")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_SOURCE_DIR}/cpack_options.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
# Debug information is compressed already, and xz takes a minute for it.
set(CPACK_DEBIAN_COMPRESSION_TYPE gzip)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_MAIN_PACKAGE_NAME aoti-dbg)
set(CPACK_DEBIAN_MAIN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_MAIN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/triggers)
# Nothing else: the C++ runtime is linked statically.
set(CPACK_DEBIAN_MAIN_PACKAGE_DEPENDS "libc6 (>= 2.34)")
set(CPACK_COMPONENT_MAIN_DESCRIPTION "debugger for compiled PyTorch models
aoti-dbg shows what a compiled PyTorch model (AOTInductor) does while it
runs: its kernels, the statistics of their tensors, and the cause of a crash,
a GPU fault or a hang. It works on unchanged programs and models.")
set(CPACK_DEBIAN_DBGSYM_PACKAGE_NAME aoti-dbg-dbgsym)
set(CPACK_DEBIAN_DBGSYM_PACKAGE_SECTION debug)
set(CPACK_DEBIAN_DBGSYM_PACKAGE_DEPENDS "aoti-dbg (= ${PROJECT_VERSION}-1)")
set(CPACK_COMPONENT_DBGSYM_DESCRIPTION "debug symbols for aoti-dbg
The debug information of the command aoti-dbg and of its library, for gdb and
for other debuggers.")

set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_MAIN_FILE_NAME aoti-dbg-${PROJECT_VERSION}-linux-x86_64)
set(CPACK_ARCHIVE_DBGSYM_FILE_NAME aoti-dbg-${PROJECT_VERSION}-linux-x86_64-dbgsym)

include(CPack)
cpack_add_component_group(main)
cpack_add_component_group(dbgsym)
cpack_add_component(program GROUP main)
cpack_add_component(anywhere GROUP main)
cpack_add_component(debian GROUP main)
cpack_add_component(dbgsym GROUP dbgsym)
cpack_add_component(debian_dbgsym GROUP dbgsym)

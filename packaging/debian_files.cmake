# Writes the files of a Debian package that are not the same everywhere.

# gzipped(FROM TO): compresses a file without its time.
function(gzipped from to)
  get_filename_component(folder ${to} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND gzip -9nc ${from} OUTPUT_FILE ${to} COMMAND_ERROR_IS_FATAL ANY)
  file(CHMOD ${to} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()

# debian_changelog(FOLDER PACKAGE VERSION MAINTAINER): its time is SOURCE_DATE_EPOCH, if that is set.
function(debian_changelog folder package version maintainer)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE ${folder}/changelog
    "${package} (${version}) unstable; urgency=medium\n\n"
    "  * Package of the upstream release. See changelog.gz.\n\n"
    " -- ${maintainer}  ${date}\n")
  gzipped(${folder}/changelog ${folder}/changelog.Debian.gz)
  file(REMOVE ${folder}/changelog)
endfunction()

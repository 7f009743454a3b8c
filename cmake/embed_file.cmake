# Writes the bytes of a file as a C++ constant: cmake -DFILE=... -DNAME=kPageTemplate -DHEADER=... -DOUTPUT=... -P
# embed_file.cmake. The header declares the constant, an array of unsigned char, and its size.
cmake_minimum_required(VERSION 3.22)
file(READ ${FILE} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "// Generated from ${NAME}'s file by cmake/embed_file.cmake.
#include \"${HEADER}\"

namespace aoti_dbg::cli {

const unsigned char ${NAME}[] = {
${bytes}};
const std::size_t ${NAME}Size = sizeof ${NAME};

}  // namespace aoti_dbg::cli
")

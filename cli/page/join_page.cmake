# Joins the sources of the page into one file, and lets the browser run exactly this style and this script:
#   cmake -DOUTPUT=page.html -P join_page.cmake
# The command then replaces __DATA__.
cmake_minimum_required(VERSION 3.22)

set(SCRIPTS format elements data main_tensors columns selection table charts overview pane kernels main)

function(read_text path variable)
  file(READ ${path} content)
  set(${variable} "${content}" PARENT_SCOPE)
endfunction()

# A number below 64 as a digit of base64.
function(append_digit value variable)
  set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  string(SUBSTRING ${digits} ${value} 1 digit)
  set(${variable} "${${variable}}${digit}" PARENT_SCOPE)
endfunction()

# The source expression of a content security policy for this text. Its 32 bytes are ten groups of three, and two.
function(content_hash text variable)
  string(SHA256 hex "${text}")
  set(base64 "")
  foreach(group RANGE 0 10)
    math(EXPR start "${group} * 6")
    string(SUBSTRING "${hex}00" ${start} 6 bytes)
    foreach(shift 18 12 6 0)
      math(EXPR value "(0x${bytes} >> ${shift}) & 63")
      append_digit(${value} base64)
    endforeach()
  endforeach()
  string(SUBSTRING "${base64}" 0 43 base64)
  set(${variable} "'sha256-${base64}='" PARENT_SCOPE)
endfunction()

read_text(${CMAKE_CURRENT_LIST_DIR}/page.html page)
read_text(${CMAKE_CURRENT_LIST_DIR}/page.css style)
set(script "'use strict';\n{\n")
foreach(name IN LISTS SCRIPTS)
  read_text(${CMAKE_CURRENT_LIST_DIR}/${name}.js part)
  string(APPEND script "${part}")
endforeach()
string(APPEND script "}\n")
content_hash("${style}" style_hash)
content_hash("${script}" script_hash)
string(REPLACE "__STYLE_HASH__" "${style_hash}" page "${page}")
string(REPLACE "__SCRIPT_HASH__" "${script_hash}" page "${page}")
string(REPLACE "__STYLE__" "${style}" page "${page}")
string(REPLACE "__SCRIPT__" "${script}" page "${page}")
file(WRITE ${OUTPUT} "${page}")

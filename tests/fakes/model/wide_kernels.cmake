# Writes kernels that are too wide or too many to write by hand, as sources in ${FAKE_GENERATED}:
#   wide.kernel.cpp      cpp_fused_cat_200 and cpp_fused_cat_1000, with 200 and 1000 pointers
#   wide_calls.cpp       their callers: call_cat_200(const float* const*, float*) ...
#   thousand.kernel.cpp  cpp_fused_many_0 to cpp_fused_many_999
#   thousand_calls.cpp   call_thousand(float*), which calls each once, in order
set(FAKE_GENERATED ${CMAKE_CURRENT_BINARY_DIR}/generated)
set(kernels "#include <cstdint>\n\nextern \"C\" void fake_torch_enter_call();\n")
set(calls "")
foreach(pointers 200 1000)
  math(EXPR last "${pointers} - 2")
  set(parameters "")
  set(names "")
  set(arguments "")
  foreach(i RANGE ${last})
    string(APPEND parameters "const float* in_ptr${i},\n                       ")
    string(APPEND names "in_ptr${i},")
    string(APPEND arguments "in[${i}],")
  endforeach()
  set(head "extern \"C\"  void  cpp_fused_cat_${pointers}(${parameters}float* out_ptr0)")
  string(APPEND kernels "\n${head}\n{\n    fake_torch_enter_call();\n    const float* const all[] = {${names}};\n"
    "    for (int64_t x0 = 0; x0 <= ${last}; ++x0) out_ptr0[x0] = *all[x0];\n}\n")
  string(APPEND calls "\n${head};\nvoid call_cat_${pointers}(const float* const* in, float* out) {\n"
    "    cpp_fused_cat_${pointers}(${arguments} out);\n}\n")
endforeach()
file(WRITE ${FAKE_GENERATED}/wide.kernel.cpp.new "${kernels}")
file(WRITE ${FAKE_GENERATED}/wide_calls.cpp.new "${calls}")

set(kernels "extern \"C\" void fake_torch_enter_call();\n")
set(declarations "")
set(calls "")
foreach(i RANGE 999)
  set(head "extern \"C\"  void  cpp_fused_many_${i}(float* in_out_ptr0)")
  string(APPEND kernels "${head}\n{\n    fake_torch_enter_call();\n    in_out_ptr0[0] += ${i}.0F;\n}\n")
  string(APPEND declarations "${head};\n")
  string(APPEND calls "    cpp_fused_many_${i}(data);\n")
endforeach()
file(WRITE ${FAKE_GENERATED}/thousand.kernel.cpp.new "${kernels}")
file(WRITE ${FAKE_GENERATED}/thousand_calls.cpp.new "${declarations}\nvoid call_thousand(float* data) {\n${calls}}\n")
foreach(name wide.kernel wide_calls thousand.kernel thousand_calls)
  configure_file(${FAKE_GENERATED}/${name}.cpp.new ${FAKE_GENERATED}/${name}.cpp COPYONLY)
endforeach()

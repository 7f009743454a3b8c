#include "shim/python/python_api.hpp"

#include <dlfcn.h>

#include "shim/runtime/real_dlsym.hpp"

namespace aoti_dbg::python {
namespace {

template <typename Function>
bool find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(real_dlsym(RTLD_DEFAULT, name));
    return function != nullptr;
}

const Api* look_up() {
    static Api found;
    bool is_complete = true;
#define AOTI_DBG_FIND(name, result, parameters) is_complete = find(found.name, #name) && is_complete;
    AOTI_DBG_PYTHON_FUNCTIONS(AOTI_DBG_FIND)
#undef AOTI_DBG_FIND
    is_complete = find(found.none, "_Py_NoneStruct") && find(found.long_type, "PyLong_Type") &&
                  find(found.float_type, "PyFloat_Type") && find(found.tuple_type, "PyTuple_Type") &&
                  find(found.list_type, "PyList_Type") && find(found.exception, "PyExc_Exception") &&
                  find(found.runtime_error, "PyExc_RuntimeError") && is_complete;
    return is_complete ? &found : nullptr;
}

}  // namespace

const Api* api() {
    static const Api* const known = look_up();
    return known;
}

}  // namespace aoti_dbg::python

#include "shim/python/python_door.hpp"

#include <array>
#include <string>

#include "base/errno_keeper.hpp"
#include "base/message.hpp"
#include "shim/python/python_api.hpp"
#include "shim/python/python_calls.hpp"
#include "shim/runtime/loaded_object.hpp"
#include "shim/runtime/process.hpp"

// The text of door.py, followed by a zero (door_source.S).
extern "C" __attribute__((visibility("hidden"))) const char aoti_dbg_python_door[];

namespace aoti_dbg {
namespace {

bool is_pytorch(const void* init_function) {
    const std::optional<LoadedObject> object = object_at(init_function);
    return object && object->path.find("/torch/_C.") != std::string::npos;
}

bool set_flag(const python::Api& api, python::Object* names, const char* name, bool value) {
    const python::Reference number(api.PyLong_FromLongLong(value ? 1 : 0));
    return number && api.PyDict_SetItemString(names, name, number.get()) == 0;
}

bool run_door(const python::Api& api) {
    constexpr int kFileInput = 257;  // Py_file_input
    const python::Reference names(api.PyDict_New());
    if (!names || api.PyDict_SetItemString(names.get(), "__builtins__", api.PyEval_GetBuiltins()) != 0)
        return false;
    for (python::Method& method : python::door_functions()) {
        const python::Reference function(api.PyCFunction_NewEx(&method, nullptr, nullptr));
        if (!function || api.PyDict_SetItemString(names.get(), method.name, function.get()) != 0)
            return false;
    }
    if (!set_flag(api, names.get(), "wants_values", any_feature_active()) ||
        !set_flag(api, names.get(), "wants_statements", options().captures) ||
        !set_flag(api, names.get(), "wants_asserts", checking()))
        return false;
    const python::Reference code(api.Py_CompileString(aoti_dbg_python_door, "<aoti-dbg>", kFileInput));
    if (!code) return false;
    const python::Reference result(api.PyEval_EvalCode(code.get(), names.get(), names.get()));
    return static_cast<bool>(result);
}

}  // namespace

void open_python_door(const void* init_function) {
    const ErrnoKeeper errno_keeper;
    static bool opened = false;  // guarded by the interpreter's lock
    if (opened || !is_pytorch(init_function)) return;
    const python::Api* const api = python::api();
    if (api == nullptr || api->PyGILState_Check() != 1 || api->PyErr_Occurred() != nullptr) return;
    opened = true;
    if (run_door(*api)) return;
    api->PyErr_Clear();
    message(Severity::warn, "functions of torch.compile are not intercepted: this Python refused the door.");
}

}  // namespace aoti_dbg

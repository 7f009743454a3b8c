// The functions of the Python interpreter in this process that the library calls. They belong to the limited
// API, so they are the same in every version, and are looked up at run time: the library links no Python. The
// caller must hold the interpreter's lock.
#pragma once

#include <cstddef>
#include <utility>

namespace aoti_dbg::python {

/// PyObject. The library never looks inside.
struct Object;

/// PyMethodDef of a function that takes an array of arguments (METH_FASTCALL).
struct Method {
    const char* name;
    Object* (*function)(Object* self, Object* const* arguments, std::ptrdiff_t count);
    int flags;
    const char* documentation;
};
inline constexpr int kFastCall = 0x80;
inline constexpr int kVariableArguments = 0x1;  // METH_VARARGS: a tuple

// Name, result, parameters.
#define AOTI_DBG_PYTHON_FUNCTIONS(X)                                    \
    X(PyErr_Clear, void, (void))                                        \
    X(PyErr_Occurred, Object*, (void))                                  \
    X(PyErr_SetString, void, (Object*, const char*))                    \
    X(PyErr_GetExcInfo, void, (Object**, Object**, Object**))           \
    X(Py_IncRef, void, (Object*))                                       \
    X(Py_DecRef, void, (Object*))                                       \
    X(PyDict_New, Object*, (void))                                      \
    X(PyDict_SetItemString, int, (Object*, const char*, Object*))       \
    X(PyEval_SaveThread, void*, (void))                                 \
    X(PyEval_RestoreThread, void, (void*))                              \
    X(PyGILState_Check, int, (void))                                    \
    X(PyEval_GetBuiltins, Object*, (void))                              \
    X(PyEval_GetFrame, Object*, (void))                                 \
    X(PyEval_EvalCode, Object*, (Object*, Object*, Object*))            \
    X(Py_CompileString, Object*, (const char*, const char*, int))       \
    X(PyCFunction_NewEx, Object*, (Method*, Object*, Object*))          \
    X(PyCFunction_GetFunction, void*, (Object*))                        \
    X(PyCFunction_GetFlags, int, (Object*))                             \
    X(PyModule_Create2, Object*, (void*, int))                          \
    X(PyModule_AddFunctions, int, (Object*, Method*))                   \
    X(PyImport_ImportModule, Object*, (const char*))                    \
    X(PyObject_GetAttr, Object*, (Object*, Object*))                    \
    X(PyObject_GetAttrString, Object*, (Object*, const char*))          \
    X(PyObject_IsInstance, int, (Object*, Object*))                     \
    X(PyObject_CallFunctionObjArgs, Object*, (Object*, ...))            \
    X(PyCapsule_GetPointer, void*, (Object*, const char*))              \
    X(PyCapsule_IsValid, int, (Object*, const char*))                   \
    X(PyLong_AsLongLong, long long, (Object*))                          \
    X(PyLong_FromLongLong, Object*, (long long))                        \
    X(PyFloat_AsDouble, double, (Object*))                              \
    X(PyUnicode_AsUTF8AndSize, const char*, (Object*, std::ptrdiff_t*)) \
    X(PyUnicode_InternFromString, Object*, (const char*))               \
    X(PySequence_Size, std::ptrdiff_t, (Object*))                       \
    X(PySequence_GetItem, Object*, (Object*, std::ptrdiff_t))

struct Api {
// NOLINTNEXTLINE(bugprone-macro-parentheses): types and a name that is declared
#define AOTI_DBG_PYTHON_MEMBER(name, result, parameters) result(*name) parameters = nullptr;
    AOTI_DBG_PYTHON_FUNCTIONS(AOTI_DBG_PYTHON_MEMBER)
#undef AOTI_DBG_PYTHON_MEMBER
    // Objects, not functions.
    Object* none = nullptr;
    Object* long_type = nullptr;
    Object* float_type = nullptr;
    Object* tuple_type = nullptr;
    Object* list_type = nullptr;
    Object** exception = nullptr;  // these two are variables of the interpreter
    Object** runtime_error = nullptr;
};

/// Returns null if the process has no Python that has all of them. Looks once.
const Api* api();

/// Owns a reference. Null after a failed call.
class Reference {
  public:
    explicit Reference(Object* object) : object_(object) {}
    ~Reference() {
        if (object_ != nullptr) api()->Py_DecRef(object_);
    }
    Reference(const Reference&) = delete;
    Reference& operator=(const Reference&) = delete;
    Reference(Reference&& from) noexcept : object_(std::exchange(from.object_, nullptr)) {}
    Reference& operator=(Reference&& from) noexcept {
        std::swap(object_, from.object_);
        return *this;
    }
    [[nodiscard]] Object* get() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }

  private:
    Object* object_;
};

}  // namespace aoti_dbg::python

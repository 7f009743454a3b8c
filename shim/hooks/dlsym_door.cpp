// Handles lookups that concern the library. Container functions of a model get a stub, driver entry points
// get our hooks. Only substitutes functions that the real lookup found.
#include "shim/calls/container_functions.hpp"

#include <dlfcn.h>

#include <cstring>

#include "shim/calls/models.hpp"
#include "shim/python/cpp_wrapper.hpp"
#include "shim/python/python_door.hpp"
#include "shim/runtime/driver_table.hpp"
#include "shim/runtime/loaded_object.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/real_dlsym.hpp"

namespace aoti_dbg {
namespace {

/// Repeats the lookup for the caller. RTLD_DEFAULT would find our own exports even without a driver. So for
/// driver names, the search starts behind this library. It then tries the caller's own scope.
void* really_look_up(void* handle, const char* name, const void* caller, bool is_driver_name) {
    if (handle != RTLD_DEFAULT) return real_dlsym(handle, name);
    void* const everywhere = is_driver_name ? RTLD_NEXT : RTLD_DEFAULT;
    if (void* found = real_dlsym(everywhere, name); found != nullptr) return found;
    if (const std::optional<LoadedObject> object = object_at(caller); object && !object->is_program) {
        if (void* scope = dlopen(object->path.c_str(), RTLD_LAZY | RTLD_NOLOAD); scope != nullptr) {
            void* found = real_dlsym(scope, name);
            dlclose(scope);
            if (found != nullptr) return found;
        }
    }
    return real_dlsym(everywhere, name);  // fails again and sets the message for dlerror()
}

/// The name is PyInit__C or that of a C++ wrapper.
void python_module_found(const char* name, const void* init_function) {
    if (strcmp(name, "PyInit__C") == 0)
        open_python_door(init_function);
    else
        cpp_wrapper_found(init_function);
}

}  // namespace

}  // namespace aoti_dbg

extern "C" __attribute__((visibility("hidden"))) void* aoti_dbg_dlsym_of_interest(void* handle,
                                                                                  const char* name) {
    using namespace aoti_dbg;
    const void* caller = __builtin_return_address(0);
    DriverHook* hook = find_driver_hook(name);
    void* found = really_look_up(handle, name, caller, hook != nullptr);
    if (found == nullptr) return nullptr;
    ensure_process_ready();
    if (hook != nullptr) return substitute_looked_up(*hook, found);
    if (name[0] == 'P') {
        if (observing()) python_module_found(name, found);
        return found;
    }
    if (is_container_name(name) && observing()) return container_function_found(name, found);
    return found;
}

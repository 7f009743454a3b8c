// Binds the import slots of one model: which imports get a stub, and the real function behind it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/package.hpp"
#include "shim/calls/container_functions.hpp"
#include "shim/runtime/loaded_object.hpp"

namespace aoti_dbg {

struct Name;

struct BindingReport {
    std::size_t bound = 0;
    std::size_t unbound = 0;             // requested but not bound
    std::size_t unknown_prototypes = 0;  // bound; the stack's bounds limit the repeated arguments
    bool printer_baked_in = false;       // the model contains PyTorch's debug printer
    std::string failure;                 // the reason why a slot is not writable
};

/// What the library inspects besides calls.
struct Inspected {
    bool pointers = false;  // pointers that the model requests, for levels 1 and 2 and for races
    bool views = false;     // views that it creates of storages, for checks
    bool tensors = false;   // tensors that it creates and frees, for the map of tensors
};

/// If `linked`, no lookup announces the model's runs. The library recognizes them by their first and last
/// call.
BindingReport bind_model(const LoadedObject& object, const PackageInfo& package, std::uint16_t model,
                         bool linked, Inspected inspected);

/// Returns the name of an op for its shim function, even if the table lacks it, as the printer of that
/// release writes it. Patterns match every spelling.
const Name* name_of_shim_function(std::string_view symbol, TorchRelease release);

/// Returns true if the model's imports show that it uses a CUDA device.
bool is_cuda_model(const LoadedObject& object);

/// Returns a stub for a function of the model's interface, or null if it gets none.
void* container_stub(const ContainerFunction& function, void* real, const LoadedObject& object,
                     std::uint16_t model);

/// Binds slots of `object` that hold container functions. A program with a linked model has such slots.
void bind_container_imports(const LoadedObject& object);

/// Returns true if slots of `object` still lead to our stubs. If not, the loader mapped it again.
bool is_still_bound(const LoadedObject& object);

/// Returns true if the imports are those of a model and `object` is not part of PyTorch.
bool looks_like_model(const LoadedObject& object);

}  // namespace aoti_dbg

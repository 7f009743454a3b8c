// Binds the import slots of one model: which of its imports get a stub, and what stands behind it.
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
    std::size_t unbound = 0;             // wanted, and could not be
    std::size_t unknown_prototypes = 0;  // bound; arguments are repeated by the stack's bounds
    bool printer_baked_in = false;       // PyTorch's own debug printer is compiled in
    std::string failure;                 // why a slot could not be written
};

/// What is looked at besides calls.
struct LookedAt {
    bool pointers = false;  // that the model asks for: for levels 1 and 2, and races
    bool views = false;     // that it makes of storages: for checks
    bool tensors = false;   // that it makes and lets go: for the map of them
};

/// `linked`: nobody announces its runs, so they are recognised by what every run does first and last.
BindingReport bind_model(const LoadedObject& object, const PackageInfo& package, std::uint16_t model,
                         bool linked, LookedAt inspected);

/// The name of an op by its shim function, known to the table or not.
const Name* name_of_shim_function(std::string_view symbol);

/// Whether it works on a CUDA device, by what it imports.
bool is_cuda_model(const LoadedObject& object);

/// A stub before a function of the model's container, or nullptr.
void* container_stub(const ContainerFunction& function, void* real, const LoadedObject& object,
                     std::uint16_t model);

/// Slots of `object` that hold functions of a model's container, as in a program that a model was linked to.
void bind_container_imports(const LoadedObject& object);

/// Whether slots of it still lead to us: if not, it was mapped anew.
bool is_still_bound(const LoadedObject& object);

/// A model by what it imports, and not a part of PyTorch itself.
bool looks_like_model(const LoadedObject& object);

}  // namespace aoti_dbg

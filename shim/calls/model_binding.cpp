#include "shim/calls/model_binding.hpp"

#include <optional>
#include <string_view>

#include "base/message.hpp"
#include "shim/calls/models.hpp"
#include "shim/runtime/driver_table.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/shim_table.hpp"
#include "shim/runtime/slots.hpp"

namespace aoti_dbg {
namespace {

using ring::CallKind;

// Every run of a model first disables gradients and finally restores them.
constexpr std::string_view kGradMode = "aoti_torch_grad_mode_set_enabled";
constexpr std::string_view kDataPointer = "aoti_torch_get_data_ptr";
constexpr std::string_view kView = "aoti_torch__reinterpret_tensor";
constexpr std::string_view kMake = "aoti_torch_empty_strided";
constexpr std::string_view kMakePinned = "aoti_torch_empty_strided_pinned";
constexpr std::string_view kDeleteTensor = "aoti_torch_delete_tensor_object";

/// Recognizes shim functions of a PyTorch newer than the table: aoti_torch_<device>_<op> is an op.
bool is_unknown_op(std::string_view symbol) {
    for (const std::string_view device : {"aoti_torch_cpu_", "aoti_torch_cuda_", "aoti_torch_aten_"}) {
        if (symbol.starts_with(device)) return true;
    }
    return false;
}

std::string op_of_unknown(std::string_view symbol) {
    const std::string_view op = symbol.substr(symbol.find('_', sizeof "aoti_torch_" - 1) + 1);
    const bool writes_out = op.size() > 4 && op.substr(op.size() - 4) == "_out";
    return writes_out ? std::string(symbol) : "at::_ops::" + std::string(op) + "::call";
}

/// Returns the role of a function that is inspected but is not a call. Returns nothing for any other
/// function.
std::optional<SlotRole> role_besides_calls(std::string_view symbol, const Inspected& inspected) {
    if (inspected.pointers && symbol == kDataPointer) return SlotRole::pointer;
    if (inspected.views && symbol == kView) return SlotRole::view;
    if (inspected.tensors && (symbol == kMake || symbol == kMakePinned)) return SlotRole::made;
    if (inspected.tensors && symbol == kDeleteTensor) return SlotRole::freed;
    return std::nullopt;
}

/// What describe() needs to know of the model.
struct Binding {
    const PackageInfo& package;
    std::uint16_t model;
    bool linked;
    Inspected inspected;
    TorchRelease release;
};

/// Describes the stub for `symbol`. Returns false if it gets none.
bool describe(std::string_view symbol, const Binding& of, Slot& slot) {
    const ShimSignature* const shim = find_shim(symbol);
    if (const std::optional<SlotRole> role = role_besides_calls(symbol, of.inspected);
        role && shim != nullptr) {
        slot.role = *role;
        slot.model = of.model;
        slot.name = intern_name(symbol, {});
        slot.stack_words = static_cast<std::int32_t>(shim->stack_words());
        return true;
    }
    if (shim != nullptr) {
        slot.stack_words = static_cast<std::int32_t>(shim->stack_words());
        switch (shim->kind) {
            case ShimKind::op:
                slot.role = SlotRole::call;
                slot.kind = CallKind::extern_op;
                break;
            case ShimKind::proxy:
                slot.role = SlotRole::proxy;
                slot.kind = CallKind::proxy_op;
                break;
            case ShimKind::dispatcher:
                slot.role = SlotRole::dispatcher;
                slot.kind = CallKind::dispatcher;
                break;
            case ShimKind::bookkeeping:
                // Every model imports this function, so it is bound in every model. Its slot distinguishes a
                // known library from one that was mapped again with fresh slots.
                if (symbol != kGradMode) return false;
                slot.role = of.linked ? SlotRole::grad_mode : SlotRole::mark;
                slot.kind = CallKind::run;
                slot.model = of.model;
                break;
        }
        slot.name = name_of_shim_function(symbol, of.release);
        slot.shim = shim;
        return true;
    }
    if (is_unknown_op(symbol)) {
        slot.role = SlotRole::call;
        slot.kind = CallKind::extern_op;
        slot.stack_words = kUnknownWords;
        slot.name = name_of_shim_function(symbol, of.release);
        return true;
    }
    const auto prototype = of.package.cpp_kernels.find(symbol);
    if (prototype == of.package.cpp_kernels.end() && !symbol.starts_with("cpp_fused_")) return false;
    slot.role = SlotRole::call;
    slot.kind = CallKind::cpp_kernel;
    slot.model = of.model;
    if (prototype != of.package.cpp_kernels.end())
        slot.integers = static_cast<std::uint16_t>(prototype->second.integers);
    slot.stack_words = prototype == of.package.cpp_kernels.end()
                           ? kUnknownWords
                           : static_cast<std::int32_t>(prototype->second.stack_words());
    slot.name = intern_name(symbol, {});
    return true;
}

/// Binds the driver's entry points to our exported hooks. With the library preloaded, they are already bound,
/// except in a model opened with RTLD_DEEPBIND.
bool bind_driver_import(const LoadedObject& object, const ImportSlot& import, BindingReport& report) {
    if (!std::string_view(import.symbol).starts_with("cu") || find_driver_hook(import.symbol) == nullptr)
        return false;
    void* value = real_behind(object, import);
    void* hook = substitute_driver_function(value);
    if (hook != value) {
        if (Status written = write_slot(object, import, hook); !written.ok())
            report.failure = written.message();
    }
    return true;
}

}  // namespace

BindingReport bind_model(const LoadedObject& object, const PackageInfo& package, std::uint16_t model,
                         bool linked, Inspected inspected) {
    BindingReport report;
    const Binding binding{package, model, linked, inspected, release_of_model(object)};
    for_each_import(object, [&](const ImportSlot& import) {
        const std::string_view symbol = import.symbol;
        if (symbol == "aoti_torch_print_tensor_handle" || symbol == "aoti_torch_save_tensor_handle") {
            report.printer_baked_in = true;
        }
        if (bind_driver_import(object, import, report)) return;
        Slot requested;
        if (is_stub(*import.address) || !describe(symbol, binding, requested)) return;
        requested.real = real_behind(object, import);
        // A runtime may lack functions that the model never calls. A call would end the program.
        if (requested.real == nullptr) return;
        void* stub = stub_for(requested);
        if (stub == nullptr) {
            ++report.unbound;
            return;
        }
        if (Status written = write_slot(object, import, stub); !written.ok()) {
            report.failure = written.message();
            ++report.unbound;
            return;
        }
        ++report.bound;
        if (requested.stack_words == kUnknownWords) ++report.unknown_prototypes;
    });
    return report;
}

const Name* name_of_shim_function(std::string_view symbol, TorchRelease release) {
    const ShimSignature* const shim = find_shim(symbol);
    if (shim == nullptr) return intern_name(op_of_unknown(symbol), symbol);
    const std::string_view printed = shim->printed_by(release);
    return intern_name(printed, printed == shim->name ? shim->printed.view() : shim->name.view());
}

bool is_cuda_model(const LoadedObject& object) {
    bool found = false;
    for_each_import(object, [&found](const ImportSlot& import) {
        const std::string_view symbol = import.symbol;
        found = found || symbol.starts_with("aoti_torch_cuda_") || symbol.starts_with("cuLaunchKernel") ||
                symbol == "aoti_torch_create_cuda_stream_guard";
    });
    return found;
}

void* container_stub(const ContainerFunction& function, void* real, const LoadedObject& object,
                     std::uint16_t model) {
    Slot requested;
    requested.real = real;
    requested.stack_words = function.stack_words;
    requested.model = model;
    std::string name = function.name;
    switch (function.meaning) {
        case ContainerMeaning::run:
            requested.role = SlotRole::run;
            requested.kind = CallKind::run;
            name = "run of " + object.path.substr(object.path.rfind('/') + 1);
            break;
        case ContainerMeaning::lifecycle:
            requested.role = SlotRole::lifecycle;
            requested.kind = CallKind::lifecycle;
            break;
        case ContainerMeaning::last_error:
            requested.role = SlotRole::last_error;
            break;
        case ContainerMeaning::other:
            return nullptr;
    }
    requested.name = intern_name(name, {});
    return stub_for(requested);
}

void bind_container_imports(const LoadedObject& object) {
    for_each_import(object, [&object](const ImportSlot& import) {
        if (!is_container_name(import.symbol) || is_stub(*import.address)) return;
        void* real = real_behind(object, import);
        const ContainerFunction* function = find_container_function(import.symbol);
        if (real == nullptr || function == nullptr) return;
        const std::optional<LoadedObject> owner = object_at(real);
        if (!owner) return;
        void* const stub = container_stub(*function, real, *owner, model_at(real));
        if (stub == nullptr) return;
        if (Status written = write_slot(object, import, stub); !written.ok()) {
            message(Severity::warn, "%s. Model runs that this file starts are not intercepted.",
                    written.message().c_str());
        }
    });
}

bool is_still_bound(const LoadedObject& object) {
    bool bound = false;
    bool any = false;
    for_each_import(object, [&](const ImportSlot& import) {
        if (import.symbol != kGradMode) return;
        any = true;
        bound = bound || is_stub(*import.address);
    });
    return bound || !any;
}

bool looks_like_model(const LoadedObject& object) {
    bool imports = false;
    for_each_import(object, [&imports](const ImportSlot& import) {
        // PyTorch's own libraries define this function and may call it through their PLT.
        if (import.symbol == kGradMode && import.own_definition == 0) imports = true;
    });
    return imports;
}

}  // namespace aoti_dbg

#include "shim/calls/container_functions.hpp"

#include <cstring>

namespace aoti_dbg {
namespace {

using enum SlotRole;
constexpr auto kLifecycle = ring::CallKind::lifecycle;

// The container functions that matter for calls. The last column is their number of stack argument words.
constexpr ContainerFunction kContainerFunctions[] = {
    {"AOTInductorModelContainerRun", run, ring::CallKind::run, 1},
    {"AOTInductorModelContainerRunSingleThreaded", run, ring::CallKind::run, 1},
    {"AOTInductorModelContainerRunConstantFolding", lifecycle, kLifecycle, 0},
    {"AOTInductorModelContainerDelete", lifecycle, kLifecycle, 0},
    {"AOTInductorModelContainerUpdateConstantBuffer", lifecycle, kLifecycle, 0},
    {"AOTInductorModelContainerUpdateInactiveConstantBuffer", lifecycle, kLifecycle, 0},
    {"AOTInductorModelContainerUpdateUserManagedConstantBuffer", lifecycle, kLifecycle, 0},
    {"AOTInductorModelContainerUpdateUserManagedConstantBufferPairs", lifecycle, kLifecycle, 0},
    {"AOTInductorModelContainerFreeInactiveConstantBuffer", lifecycle, kLifecycle, 0},
    {"AOTInductorModelContainerSwapConstantBuffer", lifecycle, kLifecycle, 0},
    {"AOTInductorModelUpdateConstantsFromBlob", lifecycle, kLifecycle, 0},
};

}  // namespace

const ContainerFunction* find_container_function(const char* name) {
    for (const ContainerFunction& function : kContainerFunctions) {
        if (strcmp(function.name, name) == 0) return &function;
    }
    return nullptr;
}

bool is_container_name(const char* name) {
    static constexpr char kPrefix[] = "AOTInductorModel";
    return strncmp(name, kPrefix, sizeof kPrefix - 1) == 0;
}

}  // namespace aoti_dbg

// Shared by the containers of all fake models: how they pass on exceptions (unchanged with FAKE_THROWING),
// and functions that do nothing here. Each model must include it once.
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>

#include "tests/fakes/torch/fake_torch.h"

namespace {

#ifdef FAKE_THROWING
template <typename Work>
int32_t as_error_code(Work work) {
    work();
    return 0;
}
#else
template <typename Work>
int32_t as_error_code(Work work) {
    try {
        work();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "Error: %s\n", error.what());
        return 1;
    }
    return 0;
}
#endif

}  // namespace

extern "C" {

int32_t AOTInductorModelContainerGetNumInputs(void* /*container*/, size_t* count) {
    *count = 1;
    return 0;
}

int32_t AOTInductorModelContainerUpdateInactiveConstantBuffer(void* /*container*/, void* /*map*/) {
    return 0;
}

int32_t AOTInductorModelContainerSwapConstantBuffer(void* /*container*/) {
    return 0;
}

int32_t AOTInductorModelContainerRunConstantFolding(void* /*container*/, bool /*inactive*/, void* /*stream*/,
                                                    AOTIProxyExecutorHandle /*executor*/) {
    return 0;
}

int32_t AOTInductorModelContainerGetCallSpec(void* /*container*/, const char** in, const char** out) {
    *in = "";
    *out = "";
    return 0;
}

}  // extern "C"

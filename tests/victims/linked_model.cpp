// A program with a model linked in, either as a needed library, through import slots, or compiled in. It must
// not use dlsym for the container.
#include <cstdio>

#include "tests/victims/model_user.hpp"

extern "C" {
int32_t AOTInductorModelContainerCreateWithDevice(void** container, size_t models, const char* device,
                                                  const char* cubin_dir);
int32_t AOTInductorModelContainerRun(void*, AtenTensorHandle*, size_t, AtenTensorHandle*, size_t, void*,
                                     AOTIProxyExecutorHandle);
int32_t AOTInductorModelContainerDelete(void* container);
}

namespace {

/// A direct call, because a function pointer would use another kind of slot.
int32_t run_linked(void* container, AtenTensorHandle* inputs, size_t input_count, AtenTensorHandle* outputs,
                   size_t output_count, void* stream, AOTIProxyExecutorHandle executor) {
    return AOTInductorModelContainerRun(container, inputs, input_count, outputs, output_count, stream,
                                        executor);
}

}  // namespace

int main(int argc, char** argv) {
    const int runs = argc > 1 ? std::atoi(argv[1]) : 1;
    const victim::Torch torch;
    void* container = nullptr;
    std::printf("create: %d\n", AOTInductorModelContainerCreateWithDevice(&container, 1, "cpu", nullptr));
    for (int i = 0; i < runs; ++i)
        victim::print("run", victim::run(torch, run_linked, container));
    victim::print("failing run", victim::run(torch, run_linked, container, kFailAt));
    std::printf("delete: %d\n", AOTInductorModelContainerDelete(container));
    return 0;
}

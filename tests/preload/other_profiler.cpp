// Preloaded beside the library under test: a profiler that is linked against CUPTI, as torch.profiler is, and
// that starts at kernel launch OTHER_PROFILER_AT. At exit it prints what CUPTI answered, and whether it got a
// buffer that is not its own.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "shim/timeline/cupti_api.hpp"
#include "tests/fakes/driver/fake_cuda_control.h"

using namespace aoti_dbg::cupti;

extern "C" Status cuptiSubscribe(void** subscriber, void* callback, void* data);
extern "C" Status cuptiActivityRegisterCallbacks(RequestBuffer request, CompleteBuffer complete);
extern "C" Status cuptiActivityFlushAll(std::uint32_t flags);

namespace {

Status g_subscribed = -1;
unsigned char g_own[65536];
unsigned g_foreign = 0;

void request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* /*most*/) {
    *buffer = g_own;
    *bytes = sizeof g_own;
}

void complete(CUctx_st* /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer, std::size_t /*bytes*/,
              std::size_t /*used*/) {
    if (buffer != g_own) ++g_foreign;
}

void start(const char* /*kernel*/, std::uint64_t launch) {
    const char* const at = std::getenv("OTHER_PROFILER_AT");
    if (at == nullptr || launch != std::strtoull(at, nullptr, 10)) return;
    void* subscriber = nullptr;
    g_subscribed = cuptiSubscribe(&subscriber, reinterpret_cast<void*>(&start), nullptr);
    cuptiActivityRegisterCallbacks(&request, &complete);
}

__attribute__((constructor)) void watch_launches() {
    if (void* const set = dlsym(RTLD_DEFAULT, "fake_cuda_on_launch"); set != nullptr)
        reinterpret_cast<void (*)(void (*)(const char*, std::uint64_t))>(set)(&start);
}

__attribute__((destructor)) void say() {
    cuptiActivityFlushAll(1);
    std::fprintf(stderr, "other profiler: subscribed %d, foreign buffers %u\n", g_subscribed, g_foreign);
}

}  // namespace

// Opens libcuda.so.1 and looks up every function with dlsym, like Triton's launcher. The argument `ptsz`
// selects the functions for the per-thread default stream.
#include <dlfcn.h>

#include "tests/victims/driver_work.hpp"

int main(int argc, char** argv) {
    const bool per_thread = argc > 1 && std::strcmp(argv[1], "ptsz") == 0;
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::printf("%s\n", dlerror());
        return 1;
    }
    victim::Driver driver;
#define DRIVER_FUNCTION(name, symbol, version) \
    driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, #symbol));
#define DRIVER_STREAM_FUNCTION(name, symbol, twin, version) \
    driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, per_thread ? #twin : #symbol));
#include "tests/victims/driver_api.def"
    return victim::work(driver);
}

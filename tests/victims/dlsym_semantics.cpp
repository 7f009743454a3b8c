// Prints the results of dlsym and its relatives where they depend on the caller: the next definition, the
// caller's scope, errors, versions, weak references. It must not print addresses.
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern "C" {
int chain_link(int digits);  // from the first link of the chain, which needs the second
__attribute__((weak)) int defined_nowhere();
__attribute__((weak)) int aoti_torch_defined_nowhere();
__attribute__((visibility("default"))) int only_in_the_program() {
    return 4;
}
}

namespace {

/// dlerror names the program by the path of its command line, so this replaces that path.
void say_error(const char* text, const char* program) {
    const char* error = dlerror();
    std::string line = error == nullptr ? "none" : error;
    if (const std::size_t at = line.find(program); at != std::string::npos) {
        line.replace(at, std::strlen(program), "PROGRAM");
    }
    std::printf("%s: %s\n", text, line.c_str());
}

void say_chain() {
    std::printf("the chain from its first link: %d\n", chain_link(0));
    auto* by_default = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "chain_link"));
    auto* next = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "chain_link"));
    std::printf("by default the first: %d, next of the program too: %d\n", by_default == &chain_link ? 1 : 0,
                next == &chain_link ? 1 : 0);
    std::printf("the program's own is not next: %d\n",
                dlsym(RTLD_NEXT, "only_in_the_program") == nullptr ? 1 : 0);
    std::printf(
        "the program's own by default: %d\n",
        dlsym(RTLD_DEFAULT, "only_in_the_program") == reinterpret_cast<void*>(&only_in_the_program) ? 1 : 0);
}

void say_local_scope() {
    void* library = dlopen("libdlsym_chain_3.so", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::printf("%s\n", dlerror());
        std::exit(95);
    }
    std::printf("a local library's symbol by default, asked from here: %d\n",
                dlsym(RTLD_DEFAULT, "chain_only_here") == nullptr ? 1 : 0);
    auto* sees = reinterpret_cast<int (*)()>(dlsym(library, "chain_sees_itself"));
    std::printf("asked from there: %d\n", sees());
    auto* link = reinterpret_cast<int (*)(int)>(dlsym(library, "chain_link"));
    std::printf("its own link: %d\n", link(0));
    std::printf("asked twice, the same: %d\n",
                dlsym(library, "chain_link") == reinterpret_cast<void*>(link) ? 1 : 0);
    std::printf("closed: %d\n", dlclose(library));
}

void say_errors(const char* program) {
    dlerror();
    errno = EXDEV;
    std::printf("missing by default: %d", dlsym(RTLD_DEFAULT, "defined_nowhere_at_all") == nullptr ? 1 : 0);
    std::printf(", errno %s\n", errno == EXDEV ? "kept" : "changed");
    say_error("its error", program);
    say_error("asked again", program);
    std::printf("missing next: %d\n", dlsym(RTLD_NEXT, "defined_nowhere_at_all") == nullptr ? 1 : 0);
    say_error("its error", program);
    for (const char* name : {"cuLaunchKernel", "cuGetProcAddress_v2", "AOTInductorModelContainerRun",
                             "AOTInductorModelContainerCreateWithDevice", "aoti_torch_get_data_ptr"}) {
        void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
        std::printf("%s in libc: %d\n", name, dlsym(libc, name) == nullptr ? 1 : 0);
        say_error("its error", program);
        dlclose(libc);
    }
    std::printf("a version that is not there: %d\n",
                dlvsym(RTLD_DEFAULT, "getpid", "NO_SUCH_1.0") == nullptr ? 1 : 0);
    say_error("its error", program);
    static_cast<void>(dlsym(RTLD_DEFAULT, "defined_nowhere_at_all"));
    std::printf("found after an error: %d\n", dlsym(RTLD_DEFAULT, "getpid") != nullptr ? 1 : 0);
    say_error("the error then", program);
    std::printf("a library that is not there: %d\n",
                dlopen("libno_such_thing.so", RTLD_NOW) == nullptr ? 1 : 0);
    say_error("its error", program);
}

void say_functions() {
    for (const char* name : {"dlsym", "dlvsym", "dlopen", "getpid", "pthread_create", "malloc"}) {
        std::printf("%s is there: by default %d, next %d\n", name,
                    dlsym(RTLD_DEFAULT, name) != nullptr ? 1 : 0, dlsym(RTLD_NEXT, name) != nullptr ? 1 : 0);
    }
    auto* getpid_again = reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "getpid"));
    std::printf("getpid works: %d\n", getpid_again() > 0 ? 1 : 0);
    using Dlsym = void*(void*, const char*);
    auto* found = reinterpret_cast<Dlsym*>(dlsym(RTLD_DEFAULT, "dlsym"));
    std::printf("dlsym by dlsym finds the same: %d\n",
                found(RTLD_DEFAULT, "getpid") == dlsym(RTLD_DEFAULT, "getpid") ? 1 : 0);
#if defined(__x86_64__)
    auto* versioned = reinterpret_cast<Dlsym*>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
    std::printf("dlsym by version: %d\n",
                versioned != nullptr && versioned(RTLD_DEFAULT, "getpid") != nullptr ? 1 : 0);
#endif
    std::printf("weak and missing: %d %d\n", &defined_nowhere == nullptr ? 1 : 0,
                &aoti_torch_defined_nowhere == nullptr ? 1 : 0);
    void* self = dlopen(nullptr, RTLD_NOW);
    std::printf("in the program's handle: %d\n",
                dlsym(self, "only_in_the_program") == reinterpret_cast<void*>(&only_in_the_program) ? 1 : 0);
    dlclose(self);
}

/// Many threads, each with its own error.
void say_threads() {
    std::vector<int> wrong(8, 0);
    std::vector<std::thread> threads;
    for (std::size_t which = 0; which < wrong.size(); ++which) {
        threads.emplace_back([which, &wrong] {
            const std::string name = "defined_nowhere_in_thread_" + std::to_string(which);
            for (int i = 0; i < 2000; ++i) {
                if (dlsym(RTLD_DEFAULT, name.c_str()) != nullptr) ++wrong[which];
                const char* error = dlerror();
                if (error == nullptr || std::strstr(error, name.c_str()) == nullptr) ++wrong[which];
                if (dlsym(RTLD_DEFAULT, "getpid") == nullptr) ++wrong[which];
            }
        });
    }
    int sum = 0;
    for (std::size_t which = 0; which < wrong.size(); ++which) {
        threads[which].join();
        sum += wrong[which];
    }
    std::printf("wrong answers in 8 threads: %d\n", sum);
}

}  // namespace

int main(int, char** argv) {
    say_chain();
    say_local_scope();
    say_errors(argv[0]);
    say_functions();
    say_threads();
    return 0;
}

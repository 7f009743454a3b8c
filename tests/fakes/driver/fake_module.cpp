// Modules, libraries, functions and kernels. An image is a text with lines such as
//     AOTI_DBG_FAKE_MODULE
//     kernel <name> <built-in> [letters]     letters: the parameters, if more than the built-in's
// It may also be an nvcc fatbin, recognized by its first bytes (fake_measure.cpp), or PTX. In PTX only
// entries, their pointers and stores count: a kernel that stores faults, any other does nothing. A CUkernel
// is valid in every context, a CUfunction in one. Queries accept only one of them, and launches accept both.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

constexpr char kMagic[] = "AOTI_DBG_FAKE_MODULE\n";
constexpr std::size_t kMostParameters = 64;

using Images = std::shared_ptr<const std::vector<KernelImage>>;

std::uint32_t size_of_letter(char letter) {
    switch (letter) {
        case 'p':
        case 'l':
            return 8;
        case 'i':
        case 'f':
            return 4;
        case 't':
            return 128;
        default:
            return 0;
    }
}

bool lay_out(const std::string& letters, KernelImage& image) {
    if (letters.size() > kMostParameters) return false;
    for (const char letter : letters) {
        const std::uint32_t size = size_of_letter(letter);
        if (size == 0) return false;
        const std::uint32_t alignment = size == 128 ? 64 : size;
        image.bytes = (image.bytes + alignment - 1) / alignment * alignment;
        image.offsets.push_back(image.bytes);
        image.sizes.push_back(size);
        image.bytes += size;
    }
    return true;
}

/// Parses consecutive entries: ".visible .entry name(.param .u64 a, ...) { ... }".
CUresult parse_ptx(const std::string& text, Images& images) {
    static constexpr char kEntry[] = ".entry ";
    auto kernels = std::make_shared<std::vector<KernelImage>>();
    for (std::size_t at = text.find(kEntry); at != std::string::npos; at = text.find(kEntry, at)) {
        at += sizeof(kEntry) - 1;
        const std::size_t open = text.find('(', at);
        const std::size_t body = text.find('{', at);
        const std::size_t end = text.find('}', at);
        if (open > body || body > end || end == std::string::npos) return CUDA_ERROR_INVALID_PTX;
        KernelImage image;
        image.name = text.substr(at, open - at);
        std::string letters;
        for (std::size_t p = text.find(".param .u64", open); p < body; p = text.find(".param .u64", p + 1))
            letters += 'p';
        const bool stores = text.find("st.global", body) < end;
        std::string none;
        if (!find_builtin(stores ? "fault" : "nop", image.kernel, none) || !lay_out(letters, image))
            return CUDA_ERROR_INVALID_PTX;
        image.is_nop = !stores;
        kernels->push_back(std::move(image));
    }
    images = std::move(kernels);
    return CUDA_SUCCESS;
}

CUresult parse(const char* text, Images& images) {
    if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (is_fatbin(text)) {
        if (std::getenv("FAKE_CUDA_NO_FATBIN") != nullptr) return CUDA_ERROR_NO_BINARY_FOR_GPU;
        images = std::make_shared<const std::vector<KernelImage>>(kernels_of_fatbin());
        return CUDA_SUCCESS;
    }
    if (std::strncmp(text, ".version ", 9) == 0) return parse_ptx(text, images);
    if (std::strncmp(text, kMagic, sizeof(kMagic) - 1) != 0) return CUDA_ERROR_INVALID_IMAGE;
    auto kernels = std::make_shared<std::vector<KernelImage>>();
    std::istringstream lines(text + sizeof(kMagic) - 1);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string keyword;
        std::string builtin;
        std::string letters;
        std::string given;
        KernelImage image;
        words >> keyword >> image.name >> builtin >> given;
        if (keyword.empty()) continue;
        if (keyword != "kernel" || !find_builtin(builtin, image.kernel, letters))
            return CUDA_ERROR_INVALID_IMAGE;
        if (!given.empty() && given.compare(0, letters.size(), letters) != 0) return CUDA_ERROR_INVALID_IMAGE;
        if (!lay_out(given.empty() ? letters : given, image)) return CUDA_ERROR_INVALID_IMAGE;
        image.is_nop = builtin == "nop";
        kernels->push_back(std::move(image));
    }
    images = std::move(kernels);
    return CUDA_SUCCESS;
}

CUresult read_file(const char* path, std::string& text) {
    if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const int kept_errno = errno;
    std::FILE* file = std::fopen(path, "re");
    errno = kept_errno;
    if (file == nullptr) return CUDA_ERROR_FILE_NOT_FOUND;
    char block[4096];
    for (std::size_t got = 1; got > 0;) {
        got = std::fread(block, 1, sizeof(block), file);
        text.append(block, got);
    }
    std::fclose(file);
    return CUDA_SUCCESS;
}

Module* make_module(Context* context, const Images& images, bool of_library) {
    Module* module = pools().modules.take();
    if (module == nullptr) return nullptr;
    module->context = context;
    module->image = images;
    module->functions.clear();
    module->of_library = of_library;
    module->alive.store(true, std::memory_order_release);
    return module;
}

CUresult load_module(CUmodule* out, const char* text) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult result = unsafe_during_capture(); result != CUDA_SUCCESS) return result;
    Images images;
    if (CUresult result = parse(text, images); result != CUDA_SUCCESS) return result;
    Module* module = make_module(context, images, false);
    if (module == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = reinterpret_cast<CUmodule>(module);
    return CUDA_SUCCESS;
}

/// Requires modules_mutex().
void end_module(Module* module) {
    for (Function* function : module->functions) {
        function->keeps_alive.reset();
        pools().functions.give_back(function);
    }
    module->functions.clear();
    module->image.reset();
    pools().modules.give_back(module);
}

const KernelImage* find_image(const Images& images, const std::string& name) {
    for (const KernelImage& image : *images) {
        if (image.name == name) return &image;
    }
    return nullptr;
}

/// Requires modules_mutex(). Each function has one handle, as in the real driver.
Function* function_of(Module* module, const KernelImage* image) {
    for (Function* function : module->functions) {
        if (function->image == image) return function;
    }
    Function* function = pools().functions.take();
    if (function == nullptr) return nullptr;
    function->image = image;
    function->keeps_alive = module->image;
    function->dynamic_shared = 48 * 1024;
    function->module = module;
    function->alive.store(true, std::memory_order_release);
    module->functions.push_back(function);
    return function;
}

/// Requires modules_mutex(). Returns the library's module in one context.
Module* module_of(Library* library, Context* context) {
    for (Module* module : library->modules) {
        if (module->context == context) return module;
    }
    Module* module = make_module(context, library->image, true);
    if (module != nullptr) library->modules.push_back(module);
    return module;
}

CUresult load_library(CUlibrary* out, const char* text) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult result = unsafe_during_capture(); result != CUDA_SUCCESS) return result;
    Images images;
    if (CUresult result = parse(text, images); result != CUDA_SUCCESS) return result;
    Library* library = pools().libraries.take();
    if (library == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    library->image = images;
    library->kernels.clear();
    library->modules.clear();
    library->alive.store(true, std::memory_order_release);
    *out = reinterpret_cast<CUlibrary>(library);
    return CUDA_SUCCESS;
}

}  // namespace

std::mutex& modules_mutex() {
    static auto* instance = new std::mutex;
    return *instance;
}

void unload_modules_of(Context* context) {
    const std::lock_guard lock(modules_mutex());
    pools().libraries.for_each_alive([context](Library* library) {
        auto& modules = library->modules;
        modules.erase(std::remove_if(modules.begin(), modules.end(),
                                     [context](const Module* module) { return module->context == context; }),
                      modules.end());
    });
    pools().modules.for_each_alive([context](Module* module) {
        if (module->context == context) end_module(module);
    });
}

}  // namespace fake_cuda

using namespace fake_cuda;

// ---- modules ----

FAKE_API CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    return load_module(module, static_cast<const char*>(image));
}

FAKE_API CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int, CUjit_option*,
                                     void**) {
    return load_module(module, static_cast<const char*>(image));
}

FAKE_API CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
    return load_module(module, static_cast<const char*>(image));
}

FAKE_API CUresult cuModuleLoad(CUmodule* module, const char* path) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    std::string text;
    if (CUresult result = read_file(path, text); result != CUDA_SUCCESS) return result;
    return load_module(module, text.c_str());
}

FAKE_API CUresult cuModuleUnload(CUmodule handle) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    if (CUresult result = unsafe_during_capture(); result != CUDA_SUCCESS) return result;
    synchronize_context(context);
    const std::lock_guard lock(modules_mutex());
    Module* module = pools().modules.check(handle);
    if (module == nullptr || module->of_library) return CUDA_ERROR_INVALID_HANDLE;
    end_module(module);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuModuleGetFunction(CUfunction* out, CUmodule handle, const char* name) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(modules_mutex());
    Module* module = pools().modules.check(handle);
    if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const KernelImage* image = find_image(module->image, name);
    if (image == nullptr) return CUDA_ERROR_NOT_FOUND;
    Function* function = function_of(module, image);
    if (function == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = reinterpret_cast<CUfunction>(function);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    const std::lock_guard lock(modules_mutex());
    const Module* module = pools().modules.check(handle);
    if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned int>(module->image->size());
    return CUDA_SUCCESS;
}

// ---- libraries ----

FAKE_API CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned int,
                                    CUlibraryOption*, void**, unsigned int) {
    return load_library(library, static_cast<const char*>(code));
}

FAKE_API CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**,
                                        unsigned int, CUlibraryOption*, void**, unsigned int) {
    std::string text;
    if (CUresult result = read_file(path, text); result != CUDA_SUCCESS) return result;
    return load_library(library, text.c_str());
}

FAKE_API CUresult cuLibraryUnload(CUlibrary handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (CUresult result = unsafe_during_capture(); result != CUDA_SUCCESS) return result;
    if (Context* context = current_context(); context != nullptr && context->alive)
        synchronize_context(context);
    const std::lock_guard lock(modules_mutex());
    Library* library = pools().libraries.check(handle);
    if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    for (Module* module : library->modules)
        end_module(module);
    for (Kernel* kernel : library->kernels) {
        kernel->keeps_alive.reset();
        pools().kernels.give_back(kernel);
    }
    library->modules.clear();
    library->kernels.clear();
    library->image.reset();
    pools().libraries.give_back(library);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuLibraryGetKernel(CUkernel* out, CUlibrary handle, const char* name) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(modules_mutex());
    Library* library = pools().libraries.check(handle);
    if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const KernelImage* image = find_image(library->image, name);
    if (image == nullptr) return CUDA_ERROR_NOT_FOUND;
    for (Kernel* kernel : library->kernels) {
        if (kernel->image != image) continue;
        *out = reinterpret_cast<CUkernel>(kernel);
        return CUDA_SUCCESS;
    }
    Kernel* kernel = pools().kernels.take();
    if (kernel == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    kernel->image = image;
    kernel->keeps_alive = library->image;
    kernel->dynamic_shared = 48 * 1024;
    kernel->library = library;
    kernel->alive.store(true, std::memory_order_release);
    library->kernels.push_back(kernel);
    *out = reinterpret_cast<CUkernel>(kernel);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    const std::lock_guard lock(modules_mutex());
    const Library* library = pools().libraries.check(handle);
    if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned int>(library->image->size());
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuLibraryGetModule(CUmodule* out, CUlibrary handle) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(modules_mutex());
    Library* library = pools().libraries.check(handle);
    if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *out = reinterpret_cast<CUmodule>(module_of(library, context));
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuKernelGetFunction(CUfunction* out, CUkernel handle) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(modules_mutex());
    const Kernel* kernel = pools().kernels.check(handle);
    if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    Module* module = module_of(kernel->library, context);
    Function* function = module == nullptr ? nullptr : function_of(module, kernel->image);
    if (function == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = reinterpret_cast<CUfunction>(function);
    return CUDA_SUCCESS;
}

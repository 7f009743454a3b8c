// The CUDA side of the fake libtorch: current streams, a caching allocator, and ops that launch their own
// kernels. It must not link the driver. It looks it up on first use.
#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/fakes/torch/fake_tensor.hpp"

extern "C" void fake_c10_cuda_report(void* address, std::int64_t bytes);

namespace fake_torch {
namespace {

constexpr const char* kLibraryImage =
    "AOTI_DBG_FAKE_MODULE\nkernel fake_library_kernel nop\nkernel fake_sgemm_kernel linear\nkernel "
    "fake_fill_kernel fill\n";

// PyTorch's allocator has this block size, but larger segments.
constexpr size_t kBlockBytes = 512;
constexpr size_t kSegmentBytes = size_t{1} << 20U;

thread_local void* t_stream = nullptr;

/// The few driver functions that are called, by their exported names.
struct Driver {
    using Pointer = unsigned long long;
    int (*allocate)(Pointer*, size_t) = nullptr;
    int (*release)(Pointer) = nullptr;
    int (*zero)(Pointer, unsigned char, size_t, void*) = nullptr;
    int (*load)(void**, const void*) = nullptr;
    int (*get)(void**, void*, const char*) = nullptr;
    int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                  void**) = nullptr;
    void* module = nullptr;
    void* nop = nullptr;
    void* sgemm = nullptr;
    void* fill = nullptr;

    Driver() {
        void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (library == nullptr) return;
        find(library, "cuMemAlloc_v2", allocate);
        find(library, "cuMemFree_v2", release);
        find(library, "cuMemsetD8Async", zero);
        find(library, "cuModuleLoadData", load);
        find(library, "cuModuleGetFunction", get);
        find(library, "cuLaunchKernel", launch);
        if (load == nullptr || get == nullptr || load(&module, kLibraryImage) != 0) launch = nullptr;
        nop = kernel("fake_library_kernel");
        sgemm = kernel("fake_sgemm_kernel");
        fill = kernel("fake_fill_kernel");
    }

    template <typename Function>
    static void find(void* library, const char* name, Function*& function) {
        function = reinterpret_cast<Function*>(dlsym(library, name));
    }

    [[nodiscard]] void* kernel(const char* name) const {
        void* found = nullptr;
        return launch != nullptr && get(&found, module, name) == 0 ? found : nullptr;
    }
};

Driver& driver() {
    static Driver instance;
    return instance;
}

class CachingAllocator {
  public:
    std::shared_ptr<Storage> allocate(size_t bytes, int32_t device, void* stream) {
        const size_t rounded = (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
        const std::lock_guard lock(mutex_);
        std::unique_ptr<Pool>& known = pools_[{device, stream}];
        if (known == nullptr) known = std::make_unique<Pool>();
        Pool& pool = *known;
        void* block = take(pool, rounded, stream);
        if (block == nullptr) return nullptr;
        fake_c10_cuda_report(block, static_cast<std::int64_t>(rounded));
        std::shared_ptr<void> memory(block, [this, &pool, rounded](void* freed) {
            const std::lock_guard again(mutex_);
            fake_c10_cuda_report(freed, -static_cast<std::int64_t>(rounded));
            pool.free[rounded].push_back(freed);
        });
        return std::make_shared<Storage>(Storage{std::move(memory), static_cast<int64_t>(bytes)});
    }

    /// Blocks that are freed later still find their pool, although nothing allocates from it any more.
    void forget() {
        const std::lock_guard lock(mutex_);
        for (auto& [key, pool] : pools_)
            lost_.push_back(std::move(pool));
        pools_.clear();
    }

  private:
    struct Pool {
        std::map<size_t, std::vector<void*>> free;
        std::byte* next = nullptr;  // next free byte in the newest segment
        size_t left = 0;
    };

    static void* take(Pool& pool, size_t bytes, void* stream) {
        std::vector<void*>& free = pool.free[bytes];
        if (!free.empty()) {
            static const bool is_lowest = std::getenv("FAKE_TORCH_LOWEST") != nullptr;
            const auto which = is_lowest ? std::min_element(free.begin(), free.end()) : free.end() - 1;
            void* const block = *which;
            free.erase(which);
            return block;
        }
        if (pool.left < bytes && !add_segment(pool, bytes > kSegmentBytes ? bytes : kSegmentBytes, stream))
            return nullptr;
        void* block = pool.next;
        pool.next += bytes;
        pool.left -= bytes;
        return block;
    }

    static bool add_segment(Pool& pool, size_t bytes, void* stream) {
        Driver::Pointer address = 0;
        if (driver().allocate == nullptr || driver().allocate(&address, bytes) != 0) return false;
        // Zeroed segments make the contents of unwritten tensors depend only on the program.
        if (driver().zero(address, 0, bytes, stream) != 0) return false;
        pool.next = reinterpret_cast<std::byte*>(address);
        pool.left = bytes;
        return true;
    }

    std::mutex mutex_;
    std::map<std::pair<int32_t, void*>, std::unique_ptr<Pool>> pools_;
    std::vector<std::unique_ptr<Pool>> lost_;
};

size_t number_in(const char* variable) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

/// The memory that an op needs while it runs: FAKE_TORCH_WORKSPACE bytes on the device, if set. Like PyTorch,
/// a failed allocation frees the cache (FAKE_TORCH_CACHED bytes, from the first op on) and is retried once.
/// With FAKE_TORCH_FAIL=1, the op fails although the allocation succeeded.
class Workspace {
  public:
    Workspace() {
        static const size_t bytes = number_in("FAKE_TORCH_WORKSPACE");
        if (bytes == 0) return;
        static std::mutex mutex;
        static Driver::Pointer cached = cache();
        const std::lock_guard lock(mutex);
        is_there_ = driver().allocate(&memory_, bytes) == 0;
        if (is_there_) return;
        if (cached != 0) driver().release(std::exchange(cached, 0));
        is_there_ = driver().allocate(&memory_, bytes) == 0;
    }
    ~Workspace() {
        if (memory_ != 0) driver().release(memory_);
    }
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
    [[nodiscard]] bool is_there() const { return is_there_ && number_in("FAKE_TORCH_FAIL") == 0; }

  private:
    static Driver::Pointer cache() {
        Driver::Pointer memory = 0;
        const size_t bytes = number_in("FAKE_TORCH_CACHED");
        return bytes != 0 && driver().allocate(&memory, bytes) == 0 ? memory : 0;
    }

    Driver::Pointer memory_ = 0;
    bool is_there_ = true;
};

CachingAllocator& allocator() {
    static auto* instance = new CachingAllocator;  // tensors may outlive the library's static destructors
    return *instance;
}

/// With FAKE_TORCH_SCRATCH=1, an op allocates as much memory as its result from the caching allocator, writes
/// to it and frees it, as PyTorch's ops do with a workspace. The memory is often what the model freed last.
bool use_scratch(int64_t bytes, int32_t device) {
    static const bool is_on = number_in("FAKE_TORCH_SCRATCH") != 0;
    if (!is_on) return true;
    const std::shared_ptr<Storage> scratch =
        allocator().allocate(static_cast<size_t>(bytes), device, t_stream);
    if (scratch == nullptr || driver().fill == nullptr) return false;
    void* memory = scratch->memory.get();
    float value = -77;
    auto count = static_cast<int32_t>(bytes / static_cast<int64_t>(sizeof value));
    void* arguments[] = {&memory, &value, &count};
    return driver().launch(driver().fill, 1, 1, 1, 32, 1, 1, 0, t_stream, arguments, nullptr) == 0;
}

}  // namespace

std::shared_ptr<Storage> allocate_on_device(int64_t bytes, int32_t device) {
    return allocator().allocate(bytes == 0 ? 1 : static_cast<size_t>(bytes), device, t_stream);
}

void launch_library_kernel() {
    void* const kernel = driver().nop;
    if (kernel != nullptr) driver().launch(kernel, 1, 1, 1, 32, 1, 1, 0, t_stream, nullptr, nullptr);
}

}  // namespace fake_torch

using namespace fake_torch;

extern "C" {

void fake_torch_forget_devices() {
    allocator().forget();
    driver() = Driver();
}

AOTITorchError aoti_torch_get_current_cuda_stream(int32_t /*device*/, void** stream) {
    *stream = t_stream;
    return 0;
}

AOTITorchError aoti_torch_create_cuda_stream_guard(void* stream, int32_t /*device*/,
                                                   CUDAStreamGuardHandle* guard) {
    *guard = reinterpret_cast<CUDAStreamGuardHandle>(new void*(std::exchange(t_stream, stream)));
    return 0;
}

AOTITorchError aoti_torch_delete_cuda_stream_guard(CUDAStreamGuardHandle guard) {
    auto* previous = reinterpret_cast<void**>(guard);
    t_stream = *previous;
    delete previous;
    return 0;
}

/// Computes out[m, n] = self[n] + mat1[m, k] x mat2[k, n], where mat2 is the transposed view of a weight.
AOTITorchError aoti_torch_cuda_addmm_out(AtenTensorHandle out, AtenTensorHandle self, AtenTensorHandle mat1,
                                         AtenTensorHandle mat2, double beta, double alpha) {
    fake_torch_enter_call();
    const bool is_understood = beta == 1 && alpha == 1 && mat1->sizes.size() == 2 && mat2->strides[0] == 1;
    void* const kernel = driver().sgemm;
    const Workspace workspace;
    if (!is_understood || kernel == nullptr || !workspace.is_there()) return 1;
    if (!use_scratch(out->elements * element_bytes(out->dtype), out->device_index)) return 1;
    auto rows = static_cast<int32_t>(mat1->sizes[0]);
    auto columns = static_cast<int32_t>(mat2->sizes[1]);
    auto inner = static_cast<int32_t>(mat1->sizes[1]);
    void* arguments[] = {&out->data, &self->data, &mat1->data, &mat2->data, &rows, &columns, &inner};
    return driver().launch(kernel, 1, 1, 1, 32, 1, 1, 0, t_stream, arguments, nullptr) == 0 ? 0 : 1;
}

/// Allocates its results but sorts nothing.
AOTITorchError aoti_torch_cuda_sort_stable(AtenTensorHandle self, int32_t* stable, int64_t /*dim*/,
                                           int32_t /*descending*/, AtenTensorHandle* values,
                                           AtenTensorHandle* indices) {
    fake_torch_enter_call();
    if (stable == nullptr || *stable != 1) return 1;
    const auto like_self = [self](int32_t dtype, AtenTensorHandle* made) {
        return aoti_torch_empty_strided(static_cast<int64_t>(self->sizes.size()), self->sizes.data(),
                                        self->strides.data(), dtype, kCuda, self->device_index, made);
    };
    launch_library_kernel();
    return like_self(kFloat32, values) != 0 || like_self(kInt64, indices) != 0 ? 1 : 0;
}

}  // extern "C"

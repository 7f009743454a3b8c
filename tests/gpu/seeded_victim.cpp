// A C++ program on LibTorch with a bug in the program, not in the model: seeded_victim BUG PACKAGE.pt2
// The package comes from bench/compile_models.py. Its inputs are stored beside it, and the last of them are
// bad. The program runs the model with good inputs, then as BUG says, and then synchronizes the device. It
// exits with 3 if anything reports an error, else with 0. It must not use the library.
#include <ATen/DeviceAccelerator.h>
#include <ATen/Functions.h>
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/library.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Loader = torch::inductor::AOTIModelPackageLoader;
using Inputs = std::vector<at::Tensor>;

// ---- CUDA, without its headers: through the libraries that torch loads ----

template <typename... Arguments>
int cuda(const char* name, Arguments... arguments) {
    static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    void* const where = std::strncmp(name, "cuda", 4) == 0 ? RTLD_DEFAULT : driver;
    auto* const function = reinterpret_cast<int (*)(Arguments...)>(dlsym(where, name));
    if (function == nullptr) {
        std::fprintf(stderr, "seeded_victim: no %s\n", name);
        std::exit(9);
    }
    return function(arguments...);
}

void must(int error, const char* what) {
    if (error == 0) return;
    std::fprintf(stderr, "seeded_victim: %s failed with %d\n", what, error);
    std::exit(9);
}

// Computes out[where[i]] = 2 * x[i] without checking the indices.
const char kScatter[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry seeded_scatter(.param .u64 x, .param .u64 where, .param .u64 out, .param .u32 count)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %a<10>;
    .reg .f32 %f<3>;
    ld.param.u64 %a0, [x];
    ld.param.u64 %a1, [where];
    ld.param.u64 %a2, [out];
    ld.param.u32 %r0, [count];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p, %r4, %r0;
    @%p bra DONE;
    mul.wide.u32 %a3, %r4, 4;
    add.u64 %a4, %a0, %a3;
    ld.global.f32 %f0, [%a4];
    mul.wide.u32 %a5, %r4, 8;
    add.u64 %a6, %a1, %a5;
    ld.global.u64 %a7, [%a6];
    shl.b64 %a8, %a7, 2;
    add.u64 %a9, %a2, %a8;
    add.f32 %f1, %f0, %f0;
    st.global.f32 [%a9], %f1;
DONE:
    ret;
}
)";

void launch_scatter(void* kernel, const at::Tensor& x, const at::Tensor& where, at::Tensor& out,
                    void* stream) {
    void *from = x.data_ptr(), *at = where.data_ptr(), *to = out.data_ptr();
    unsigned count = static_cast<unsigned>(x.numel());
    void* arguments[] = {&from, &at, &to, &count};
    // An error here comes from an earlier fault, which the program gets when it synchronizes.
    cuda("cuLaunchKernel", kernel, (count + 255) / 256, 1U, 1U, 256U, 1U, 1U, 0U, stream,
         static_cast<void**>(arguments), static_cast<void**>(nullptr));
}

at::Tensor scatter(const at::Tensor& x, const at::Tensor& where) {
    at::Tensor out = at::empty_like(x);
    static void* kernel = [] {
        void *image = nullptr, *found = nullptr;
        must(cuda("cuModuleLoadData", &image, static_cast<const void*>(kScatter)), "cuModuleLoadData");
        must(cuda("cuModuleGetFunction", &found, image, "seeded_scatter"), "cuModuleGetFunction");
        return found;
    }();
    launch_scatter(kernel, x, where, out, nullptr);
    return out;
}

// The op of `fault_custom_op` in tests/models/faults.py.
TORCH_LIBRARY(seeded, library) {
    library.def("scatter(Tensor x, Tensor where) -> Tensor");
    library.impl("scatter", c10::DispatchKey::CUDA, TORCH_FN(scatter));
}

// ---- the inputs of the models ----

std::vector<Inputs> inputs_for(const std::string& package) {
    std::ifstream file(package.substr(0, package.rfind('-')) + ".inputs.pt", std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    const c10::IValue saved = torch::jit::pickle_load(bytes);
    std::vector<Inputs> all;
    for (const c10::IValue& one : saved.toListRef()) {
        Inputs& inputs = all.emplace_back();
        for (const c10::IValue& input : one.toListRef())
            inputs.push_back(input.toTensor().cuda());
    }
    return all;
}

/// Returns a tensor in freed memory of its own, which is large enough that the driver unmaps it.
at::Tensor in_freed_memory(const at::Tensor& like) {
    void* memory = nullptr;
    must(cuda("cudaMalloc", &memory, std::size_t{256} << 20U), "cudaMalloc");
    const at::Tensor tensor = at::from_blob(memory, like.sizes(), like.options());
    must(cuda("cudaFree", memory), "cudaFree");
    return tensor;
}

/// Returns a tensor in memory that PyTorch's allocator returned to the driver. It starts in the middle,
/// because pools keep the parts beside other tensors.
at::Tensor in_emptied_memory(const at::Tensor& like) {
    at::Tensor tensor;
    {
        const at::Tensor room = at::zeros({std::int64_t{64} << 20U}, like.options());
        tensor = at::from_blob(room.data_ptr<float>() + room.numel() / 2, like.sizes(), like.options());
    }
    at::accelerator::emptyCache();
    return tensor;
}

// ---- the bugs ----

struct Run {
    const char* package;
    Loader& loader;
    std::vector<Inputs>& all;  // the first good, the last bad
    [[nodiscard]] Inputs good() const { return all.front(); }
};

void bad_input(const Run& run) {
    run.loader.run(run.all.back());
}

/// Never synchronizes: the program is busy elsewhere until a signal ends it.
void unasked(const Run& run) {
    run.loader.run(run.all.back());
    for (;;)
        pause();
}

/// The first input is in freed memory.
void freed(const Run& run) {
    Inputs inputs = run.good();
    inputs.front() = in_freed_memory(inputs.front());
    run.loader.run(inputs);
}

void emptied(const Run& run) {
    Inputs inputs = run.good();
    inputs.front() = in_emptied_memory(inputs.front());
    run.loader.run(inputs);
}

/// The last input is misaligned by one element for vectorized loads.
void misaligned(const Run& run) {
    Inputs inputs = run.good();
    const at::Tensor room = at::zeros({inputs.back().numel() + 1}, inputs.back().options());
    inputs.back() = room.narrow(0, 1, inputs.back().numel()).view(inputs.back().sizes());
    run.loader.run(inputs);
}

void dtype(const Run& run) {
    Inputs inputs = run.good();
    inputs.back() = inputs.back().to(at::kDouble);
    run.loader.run(inputs);
}

void device(const Run& run) {
    Inputs inputs = run.good();
    inputs.back() = inputs.back().cpu();
    run.loader.run(inputs);
}

/// The input has more rows than the model was exported for.
void rows(const Run& run) {
    Inputs inputs = run.good();
    inputs.back() = at::zeros({1 << 22, inputs.back().size(1)}, inputs.back().options());
    run.loader.run(inputs);
}

/// The input has so many rows that no memory can contain the intermediate results.
void memory(const Run& run) {
    Inputs inputs = run.good();
    inputs.back() = inputs.back().narrow(0, 0, 1).expand({std::int64_t{1} << 31, inputs.back().size(1)});
    run.loader.run(inputs);
}

/// The inputs are good when the graph is captured, and bad when it is launched.
void graph(const Run& run) {
    void *stream = nullptr, *graph = nullptr, *ready = nullptr;
    must(cuda("cudaStreamCreateWithFlags", &stream, 1U), "cudaStreamCreateWithFlags");
    Inputs inputs;
    for (const at::Tensor& input : run.good())
        inputs.push_back(input.clone());
    // Makes the allocator allocate all that the model needs.
    run.loader.run(inputs, stream);
    must(cuda("cudaDeviceSynchronize"), "cudaDeviceSynchronize");
    must(cuda("cudaStreamBeginCapture", stream, 2), "cudaStreamBeginCapture");
    const Inputs results = run.loader.run(inputs, stream);
    must(cuda("cudaStreamEndCapture", stream, &graph), "cudaStreamEndCapture");
    must(cuda("cudaGraphInstantiate", &ready, graph, 0ULL), "cudaGraphInstantiate");
    for (const Inputs* values : {&run.all.front(), &run.all.back()}) {
        for (std::size_t i = 0; i < inputs.size(); ++i)
            inputs[i].copy_((*values)[i]);
        must(cuda("cudaDeviceSynchronize"), "cudaDeviceSynchronize");
        cuda("cudaGraphLaunch", ready, stream);
        if (values == &run.all.front()) must(cuda("cudaDeviceSynchronize"), "cudaDeviceSynchronize");
    }
}

/// The program ignores a failed update.
void constants(const Run& run) {
    const at::Tensor of_no_use = at::zeros({3}, run.good().front().options());
    std::unordered_map<std::string, at::Tensor> update{{"0.weight", of_no_use}};
    try {
        run.loader.load_constants(update, false, true);
    } catch (const std::exception&) {
    }
    run.loader.run(run.good());
}

/// A constant that the program keeps is misaligned by one element for vectorized loads.
void misaligned_constant(const Run& run) {
    const at::Tensor room = at::zeros({64 * 64 + 1}, run.good().front().options());
    std::unordered_map<std::string, at::Tensor> update{{"table", room.narrow(0, 1, 64 * 64).view({64, 64})}};
    run.loader.load_constants(update, false, true, true);
    run.loader.run(run.good());
}

/// A model reads on its own stream what `write` writes on the legacy stream. With `orders`, each waits for
/// the other.
template <typename Write>
void read_and_write(const Run& run, bool orders, Write write) {
    void *stream = nullptr, *event = nullptr;
    must(cuda("cudaStreamCreateWithFlags", &stream, 1U), "cudaStreamCreateWithFlags");
    must(cuda("cudaEventCreateWithFlags", &event, 2U), "cudaEventCreateWithFlags");
    Inputs inputs;
    for (const at::Tensor& input : run.good())
        inputs.push_back(input.clone());
    const auto wait = [&](void* later, void* earlier) {
        if (!orders) return;
        must(cuda("cudaEventRecord", event, earlier), "cudaEventRecord");
        must(cuda("cudaStreamWaitEvent", later, event, 0U), "cudaStreamWaitEvent");
    };
    for (int i = 0; i < 100; ++i) {
        write(inputs.back());
        wait(stream, nullptr);
        run.loader.run(inputs, stream);
        wait(nullptr, stream);
    }
}

void race(const Run& run) {
    read_and_write(run, false, [](at::Tensor& input) { input.add_(1.0); });
}

void race_of_copy(const Run& run) {
    read_and_write(run, false, [&run](at::Tensor& input) { input.copy_(run.good().back()); });
}

void ordered_copy(const Run& run) {
    read_and_write(run, true, [&run](at::Tensor& input) { input.copy_(run.good().back()); });
}

/// Runs forty times, the last time with bad inputs. Calls `between` after each of the other runs.
template <typename Between>
void often(const Run& run, Between between) {
    for (int i = 0; i < 39; ++i)
        between(run.loader.run(run.good()));
    run.loader.run(run.all.back());
}

/// Copies and fills between the runs, some with a driver kernel and some without.
void copied(const Run& run) {
    constexpr int kWithinDevice = 3, kAnywhere = 4;
    constexpr std::size_t kHalf = 1 << 20, kPage = 4096, kPitch = 512, kWidth = 16, kRows = 16;
    const at::Tensor room = at::zeros({2 * kHalf}, run.good().front().options().dtype(at::kByte));
    void *const to = room.data_ptr(), *const stream = nullptr;
    const void* const from = static_cast<char*>(to) + kHalf;
    const std::vector<char> host(kPage);
    often(run, [&](const Inputs&) {
        must(cuda("cudaMemcpyAsync", to, from, kPage, kWithinDevice, stream), "cudaMemcpyAsync");
        must(cuda("cudaMemcpyAsync", to, from, kPage, kAnywhere, stream), "cudaMemcpyAsync");
        must(cuda("cudaMemcpyAsync", to, static_cast<const void*>(host.data()), kPage, kAnywhere, stream),
             "cudaMemcpyAsync");
        must(cuda("cudaMemcpy2DAsync", to, kPitch, from, kPitch, kWidth, kRows, kWithinDevice, stream),
             "cudaMemcpy2DAsync");
        for (const std::size_t bytes : {kPage, kPage + 1})
            must(cuda("cudaMemsetAsync", to, 0, bytes, stream), "cudaMemsetAsync");
        for (const std::size_t pitch : {kWidth, kPitch})
            must(cuda("cudaMemset2DAsync", to, pitch, 0, kWidth, kRows, stream), "cudaMemset2DAsync");
    });
}

// ---- bugs with a second GPU ----

Inputs on_second(const Inputs& inputs) {
    Inputs there;
    for (const at::Tensor& input : inputs)
        there.push_back(input.to(at::Device(at::kCUDA, 1)));
    return there;
}

/// The model's second copy is on the second GPU and gets the bad inputs.
void second_gpu(const Run& run) {
    must(cuda("cudaSetDevice", 1), "cudaSetDevice");
    Loader second(run.package, "model", false, 1, 1);
    second.run(on_second(run.good()));
    must(cuda("cudaDeviceSynchronize"), "cudaDeviceSynchronize");
    second.run(on_second(run.all.back()));
    // The loader must still be alive here.
    if (cuda("cudaDeviceSynchronize") != 0) throw std::runtime_error("the second GPU");
}

/// Does the same while the first GPU works for another thread.
void both_gpus(const Run& run) {
    std::atomic<bool> is_over{false};
    std::thread first([&] {
        must(cuda("cudaSetDevice", 0), "cudaSetDevice");
        while (!is_over)
            run.loader.run(run.good());
    });
    bool has_failed = false;
    try {
        second_gpu(run);
    } catch (const std::exception&) {
        has_failed = true;
    }
    is_over = true;
    first.join();
    if (has_failed) throw std::runtime_error("the second GPU");
}

/// The last input is on the other GPU.
void other_gpu(const Run& run) {
    Inputs inputs = run.good();
    inputs.back() = on_second({inputs.back().cpu()}).front();
    run.loader.run(inputs);
}

/// Copies the results of each run to the other GPU and within this one.
void across(const Run& run) {
    often(run, [](const Inputs& results) {
        on_second(results);
        for (const at::Tensor& result : results)
            at::empty_like(result).copy_(result);
    });
}

/// A library kernel runs by its stream on a GPU that is not the thread's: four times on each, the last time
/// with bad arguments on the second.
void elsewhere(const Run&) {
    void *library = nullptr, *kernel = nullptr;
    const auto none = static_cast<void**>(nullptr);
    must(cuda("cuLibraryLoadData", &library, static_cast<const void*>(kScatter), none, none, 0U, none, none,
              0U),
         "cuLibraryLoadData");
    must(cuda("cuLibraryGetKernel", &kernel, library, "seeded_scatter"), "cuLibraryGetKernel");
    struct Place {
        at::Tensor x, where, out;
        void* stream = nullptr;
    } places[2];
    for (int device : {1, 0}) {
        Place& place = places[device];
        must(cuda("cudaSetDevice", device), "cudaSetDevice");
        must(cuda("cudaStreamCreateWithFlags", &place.stream, 1U), "cudaStreamCreateWithFlags");
        place.x = at::ones({1000}, at::Device(at::kCUDA, static_cast<at::DeviceIndex>(device)));
        place.where = at::zeros({1000}, place.x.options().dtype(at::kLong));
        place.out = at::zeros_like(place.x);
        must(cuda("cudaDeviceSynchronize"), "cudaDeviceSynchronize");
    }
    must(cuda("cudaSetDevice", 1), "cudaSetDevice");
    const at::Tensor wrong = in_freed_memory(places[1].x);
    must(cuda("cudaSetDevice", 0), "cudaSetDevice");
    for (int i = 0; i < 4; ++i) {
        for (Place& place : places) {
            const bool is_wrong = i == 3 && &place == &places[1];
            launch_scatter(kernel, is_wrong ? wrong : place.x, place.where, place.out, place.stream);
        }
    }
    if (cuda("cudaStreamSynchronize", places[1].stream) != 0) throw std::runtime_error("the second GPU");
}

struct Bug {
    const char* name;
    void (*run)(const Run& run);
};

constexpr Bug kBugs[] = {
    {"bad_input", bad_input},
    {"unasked", unasked},
    {"freed", freed},
    {"emptied", emptied},
    {"misaligned", misaligned},
    {"dtype", dtype},
    {"device", device},
    {"rows", rows},
    {"memory", memory},
    {"graph", graph},
    {"constants", constants},
    {"misaligned_constant", misaligned_constant},
    {"race", race},
    {"race_of_copy", race_of_copy},
    {"ordered_copy", ordered_copy},
    {"copied", copied},
    {"second_gpu", second_gpu},
    {"both_gpus", both_gpus},
    {"other_gpu", other_gpu},
    {"across", across},
    {"elsewhere", elsewhere},
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    for (const Bug& bug : kBugs) {
        if (std::strcmp(argv[1], bug.name) != 0) continue;
        bool is_well = true;
        try {
            Loader loader(argv[2]);
            std::vector<Inputs> all = inputs_for(argv[2]);
            loader.run(all.front());
            must(cuda("cudaDeviceSynchronize"), "cudaDeviceSynchronize");
            std::printf("ran with what is good\n");
            std::fflush(stdout);
            bug.run({argv[2], loader, all});
        } catch (const std::exception& error) {
            std::printf("complained: an exception\n");
            std::fprintf(stderr, "%s\n", error.what());
            is_well = false;
        }
        if (cuda("cudaDeviceSynchronize") != 0) {
            std::printf("complained: the device\n");
            is_well = false;
        }
        std::fflush(stdout);
        std::_Exit(is_well ? 0 : 3);
    }
    return 2;
}

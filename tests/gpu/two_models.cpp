// Two models at once in a C++ program on LibTorch, each in its own thread, on several kinds of streams:
//   two_models cpu|cuda RUNS HELD.jsonl VARIANT[,VARIANT...] FIRST.pt2 SECOND.pt2
// Each run has new inputs in the same buffers, and the same stream overwrites inputs and outputs right after
// it. A read that is late or on another stream thus gets other values. HELD.jsonl gets torch's values, one
// line per run, for two_models.py. Standard output depends only on the results. It must not use the library.
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <latch>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Loader = torch::inductor::AOTIModelPackageLoader;
using Tensors = std::vector<at::Tensor>;

/// The kind of stream: PyTorch's default, or one that a program provides.
enum class Lane { legacy, own, blocking, pool, per_thread };

struct Variant {
    const char* name;
    Lane lanes[2];
    bool at_once = true;
    bool on_two_devices = false;
};

// A CPU has no streams, but the two threads still exist.
const Variant kVariants[] = {
    {"alone", {Lane::legacy, Lane::legacy}, false},
    {"legacy", {Lane::legacy, Lane::legacy}},
    {"own", {Lane::own, Lane::own}},
    {"blocking", {Lane::blocking, Lane::blocking}},
    {"pool", {Lane::pool, Lane::pool}},
    {"legacy_and_own", {Lane::legacy, Lane::own}},
    {"legacy_and_blocking", {Lane::legacy, Lane::blocking}},
    // Only one model uses it, because PyTorch's allocator treats any thread's per-thread stream as the same
    // one.
    {"own_and_per_thread", {Lane::own, Lane::per_thread}},
    {"devices", {Lane::legacy, Lane::legacy}, true, true},
    {"devices_own", {Lane::own, Lane::own}, true, true},
};

bool g_cuda = false;

// The runs that may be in progress in one model, so that the host gets ahead of the device.
constexpr std::size_t kRunners = 4;
// The value that overwrites buffers, valid in every dtype. No model computes it.
constexpr int kOverwritten = 77;
// 128 MiB of floats. Some runs process them so often that the host has enqueued several runs, and the fills
// after them, before the device starts the first.
constexpr std::int64_t kBallast = 1 << 25;
constexpr std::size_t kManyRounds = 64;

/// Returns a CUDA runtime function that LibTorch loaded, because its header may be absent.
template <typename Function>
Function* runtime(const char* name) {
    void* found = dlsym(RTLD_DEFAULT, name);
    if (found == nullptr) throw std::runtime_error(std::string("no ") + name);
    return reinterpret_cast<Function*>(found);
}

/// A stream of a lane, for the lifetime of this object.
class LaneStream {
  public:
    LaneStream(Lane lane, c10::Device device) : stream_(c10::Stream::DEFAULT, device) {
        if (!g_cuda || lane == Lane::legacy) return;
        const c10::DeviceGuard guard(device);
        if (lane == Lane::pool) {
            stream_ = c10::impl::VirtualGuardImpl(at::kCUDA).getStreamFromGlobalPool(device);
        } else if (lane == Lane::per_thread) {
            stream_ = external(device, reinterpret_cast<void*>(2));  // cudaStreamPerThread
        } else {
            constexpr unsigned kNonBlocking = 1;
            const auto create = runtime<int(void**, unsigned)>("cudaStreamCreateWithFlags");
            if (create(&made_, lane == Lane::own ? kNonBlocking : 0) != 0)
                throw std::runtime_error("no stream");
            stream_ = external(device, made_);
        }
    }
    LaneStream(const LaneStream&) = delete;
    LaneStream& operator=(const LaneStream&) = delete;
    ~LaneStream() {
        if (made_ != nullptr) runtime<int(void*)>("cudaStreamDestroy")(made_);
    }

    [[nodiscard]] c10::Stream get() const { return stream_; }

  private:
    /// Works like c10::cuda::getStreamFromExternal(): the id of such a stream is its address.
    static c10::Stream external(c10::Device device, void* stream) {
        return c10::Stream(c10::Stream::UNSAFE, device, reinterpret_cast<c10::StreamId>(stream));
    }

    c10::Stream stream_;
    void* made_ = nullptr;
};

/// Copies of tensors and their statistics, all computed on the current stream.
struct Held {
    explicit Held(const at::Tensor& tensor) : copy(tensor.clone()) {}

    void take_statistics() {
        const at::Tensor wide = copy.to(at::kDouble);
        statistics = at::stack({wide.sum(), wide.amin(), wide.amax(), wide.mean(), wide.abs().mean()});
    }

    at::Tensor copy;
    at::Tensor statistics;
};

struct Run {
    std::vector<Held> inputs;
    std::vector<Held> outputs;
    std::uint64_t digest = 14695981039346656037U;  // FNV-1a over the bytes of the outputs
};

/// The work of one thread.
struct Part {
    std::string model;
    c10::Device device;
    long thread = 0;
    void* stream = nullptr;
    std::vector<Run> runs;
    std::exception_ptr failure;
};

void fold(std::uint64_t& digest, const at::Tensor& tensor) {
    const at::Tensor host = tensor.cpu().contiguous();
    const auto* bytes = static_cast<const unsigned char*>(host.const_data_ptr());
    for (std::size_t i = 0; i < host.nbytes(); ++i)
        digest = (digest ^ bytes[i]) * 1099511628211U;
}

/// Returns `transformer` for `folder/transformer-released.pt2`.
std::string model_name(const std::string& package) {
    const std::string name = package.substr(package.rfind('/') + 1);
    return name.substr(0, name.rfind('-'));
}

Tensors saved_inputs(const std::string& package) {
    std::ifstream file(package.substr(0, package.rfind('-')) + ".inputs.pt", std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    const c10::IValue saved = torch::jit::pickle_load(bytes);
    Tensors inputs;
    for (const c10::IValue& input : saved.toListRef().front().toListRef())
        inputs.push_back(input.toTensor());
    return inputs;
}

/// Returns the inputs of a run, which differ from those of every other run.
Tensors inputs_of_run(const Tensors& inputs, std::size_t run, c10::Device device) {
    Tensors made;
    for (const at::Tensor& input : inputs) {
        at::Tensor one = input.dim() > 0 ? input.roll(static_cast<std::int64_t>(run), 0) : input.clone();
        if (one.is_floating_point()) one = one.mul(1.0 + static_cast<double>(run) / 16);
        made.push_back(one.to(device));
    }
    return made;
}

Run one_run(Loader& loader, const Tensors& buffers, const Tensors& sources) {
    Run run;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        buffers[i].copy_(sources[i], /*non_blocking=*/true);
        run.inputs.emplace_back(buffers[i]);
    }
    const Tensors outputs = loader.run(buffers);
    for (const at::Tensor& output : outputs)
        run.outputs.emplace_back(output);
    for (const Tensors* tensors : {&outputs, &buffers})
        for (const at::Tensor& tensor : *tensors)
            tensor.fill_(kOverwritten);
    for (std::vector<Held>* all : {&run.inputs, &run.outputs})
        for (Held& held : *all)
            held.take_statistics();
    return run;
}

/// Does all the work of a thread. It waits for the device only at the end.
void work(Part& part, Loader& loader, std::optional<c10::Stream> stream,
          const std::vector<Tensors>& sources) {
    const c10::InferenceMode mode;
    const c10::OptionalStreamGuard guard(stream);
    part.thread = gettid();
    if (stream) part.stream = stream->native_handle();
    Tensors buffers;
    for (const at::Tensor& source : sources.front())
        buffers.push_back(source.clone());
    const at::Tensor ballast = at::zeros({g_cuda ? kBallast : 1}, at::device(part.device).dtype(at::kFloat));
    for (std::size_t i = 0; i < sources.size(); ++i) {
        for (std::size_t round = i % 8 == 0 ? kManyRounds : i % 8; round > 0; --round)
            ballast.add_(1);
        part.runs.push_back(one_run(loader, buffers, sources[i]));
    }
    for (Run& run : part.runs) {
        for (std::vector<Held>* all : {&run.inputs, &run.outputs})
            for (Held& held : *all)
                held.statistics = held.statistics.cpu();
        for (const Held& held : run.outputs)
            fold(run.digest, held.copy);
    }
}

/// The loaders, one for each package and device.
class Loaders {
  public:
    Loader& get(const std::string& package, c10::Device device) {
        std::unique_ptr<Loader>& loader = loaders_[{package, device.index()}];
        if (!loader) loader = std::make_unique<Loader>(package, "model", false, kRunners, device.index());
        return *loader;
    }

  private:
    std::map<std::pair<std::string, int>, std::unique_ptr<Loader>> loaders_;
};

std::vector<Part> run_variant(const Variant& variant, Loaders& loaders, const std::string (&packages)[2],
                              std::size_t runs) {
    std::vector<Part> parts;
    std::vector<std::unique_ptr<LaneStream>> streams;
    std::vector<Loader*> models;
    std::vector<std::vector<Tensors>> sources(2);
    for (int i = 0; i < 2; ++i) {
        const c10::Device device =
            g_cuda ? c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(variant.on_two_devices ? i : 0))
                   : c10::Device(at::kCPU);
        parts.push_back({model_name(packages[i]), device, 0, nullptr, {}, nullptr});
        const Tensors inputs = saved_inputs(packages[i]);
        for (std::size_t run = 0; run < runs; ++run)
            sources[i].push_back(inputs_of_run(inputs, run, device));
        models.push_back(&loaders.get(packages[i], device));
        if (g_cuda) c10::Stream(c10::Stream::DEFAULT, device).synchronize();
        streams.push_back(std::make_unique<LaneStream>(variant.lanes[i], device));
    }
    std::latch start(2);
    const auto thread = [&](int i) {
        return std::thread([&, i] {
            try {
                if (variant.at_once) start.arrive_and_wait();
                const c10::Stream stream = streams[i]->get();
                work(parts[i], *models[i], g_cuda ? std::optional(stream) : std::nullopt, sources[i]);
            } catch (...) {
                parts[i].failure = std::current_exception();
            }
        });
    };
    std::thread first = thread(0);
    if (!variant.at_once) first.join();
    std::thread second = thread(1);
    if (first.joinable()) first.join();
    second.join();
    for (const Part& part : parts)
        if (part.failure) std::rethrow_exception(part.failure);
    return parts;
}

/// JSON cannot represent non-finite numbers, so these are strings.
void write_number(std::FILE* file, const char* name, double number) {
    std::fprintf(file, std::isfinite(number) ? "\"%s\":%.17g" : "\"%s\":\"%g\"", name, number);
}

void write_tensors(std::FILE* file, const char* name, const std::vector<Held>& all) {
    std::fprintf(file, ",\"%s\":[", name);
    const char* between = "";
    for (const Held& held : all) {
        std::fprintf(file, "%s{\"count\":%lld", between, static_cast<long long>(held.copy.numel()));
        const double* number = held.statistics.const_data_ptr<double>();
        for (const char* statistic : {"sum", "min", "max", "mean", "magnitude"}) {
            std::fputc(',', file);
            write_number(file, statistic, *number++);
        }
        std::fputc('}', file);
        between = ",";
    }
    std::fputc(']', file);
}

void write_part(std::FILE* file, const Variant& variant, const Part& part) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < part.runs.size(); ++i) {
        const Run& run = part.runs[i];
        std::fprintf(file,
                     "{\"variant\":\"%s\",\"model\":\"%s\",\"run\":%zu,\"thread\":%ld,\"stream\":\"0x%lx\","
                     "\"device\":\"%s\",\"digest\":\"%016llx\"",
                     variant.name, part.model.c_str(), i, part.thread,
                     reinterpret_cast<unsigned long>(part.stream), part.device.str().c_str(),
                     static_cast<unsigned long long>(run.digest));
        write_tensors(file, "inputs", run.inputs);
        write_tensors(file, "outputs", run.outputs);
        std::fputs("}\n", file);
        sum = sum * 31 + run.digest;
    }
    std::printf("%s %s %016llx\n", variant.name, part.model.c_str(), static_cast<unsigned long long>(sum));
}

/// Returns the members of kVariants that a comma-separated list names.
std::vector<Variant> variants_of(const std::string& list) {
    std::vector<Variant> found;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        const std::string name = list.substr(begin, end - begin);
        const auto* variant = std::find_if(std::begin(kVariants), std::end(kVariants),
                                           [&](const Variant& one) { return name == one.name; });
        if (variant == std::end(kVariants)) throw std::runtime_error("no variant " + name);
        found.push_back(*variant);
        begin = end + 1;
    }
    return found;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7) return 2;
    g_cuda = std::strcmp(argv[1], "cuda") == 0;
    const std::string packages[2] = {argv[5], argv[6]};
    std::FILE* held = std::fopen(argv[3], "w");
    if (held == nullptr) return 2;
    try {
        Loaders loaders;
        const std::size_t runs = std::strtoul(argv[2], nullptr, 10);
        for (const Variant& variant : variants_of(argv[4])) {
            for (const Part& part : run_variant(variant, loaders, packages, runs))
                write_part(held, variant, part);
            std::fflush(stdout);
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "two_models: %s\n", error.what());
        return 1;
    }
    return std::fclose(held) == 0 ? 0 : 1;
}

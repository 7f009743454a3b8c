// A C++ program on LibTorch that runs packages made by bench/compile_models.py, in one of several ways:
//   model_victim MODE cpu|cuda PACKAGE.pt2...
// It knows nothing of the library. What it prints depends on the results alone, as sums over their bytes, so
// that two runs can be compared as text. The kind of input follows from the package's file name.
#include <ATen/Context.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using Loader = torch::inductor::AOTIModelPackageLoader;

bool g_cuda = false;

at::Tensor input_for(const std::string& package) {
    std::vector<std::int64_t> shape = {6, 12};
    at::ScalarType type = at::kFloat;
    if (package.find("transformer") != std::string::npos) {
        shape = g_cuda ? std::vector<std::int64_t>{4, 128, 512} : std::vector<std::int64_t>{2, 16, 64};
        type = g_cuda ? at::kHalf : at::kFloat;
    } else if (package.find("mixed") != std::string::npos) {
        shape = {128, 64};
    }
    at::manual_seed(1);
    return at::randn(shape).to(type).to(g_cuda ? at::kCUDA : at::kCPU);
}

/// FNV-1a over the bytes of all outputs.
std::uint64_t digest(const std::vector<at::Tensor>& outputs) {
    std::uint64_t sum = 14695981039346656037U;
    for (const at::Tensor& output : outputs) {
        const at::Tensor host = output.cpu().contiguous();
        const auto* bytes = static_cast<const unsigned char*>(host.const_data_ptr());
        for (std::size_t i = 0; i < host.nbytes(); ++i)
            sum = (sum ^ bytes[i]) * 1099511628211U;
    }
    return sum;
}

void say(const std::string& package, std::uint64_t sum) {
    const std::size_t slash = package.rfind('/');
    std::printf("%s %016lx\n", package.substr(slash + 1).c_str(), static_cast<unsigned long>(sum));
    std::fflush(stdout);
}

/// Each package twice, one after the other.
int results(const std::vector<std::string>& packages) {
    for (const std::string& package : packages) {
        Loader loader(package);
        const at::Tensor input = input_for(package);
        for (int i = 0; i < 2; ++i)
            say(package, digest(loader.run({input})));
    }
    return 0;
}

/// Each package once, for a list of its launches.
int once(const std::vector<std::string>& packages) {
    for (const std::string& package : packages)
        say(package, digest(Loader(package).run({input_for(package)})));
    return 0;
}

/// All packages at once, each in two threads that share it.
int threads(const std::vector<std::string>& packages) {
    std::vector<std::unique_ptr<Loader>> loaders;
    std::vector<at::Tensor> inputs;
    for (const std::string& package : packages) {
        loaders.push_back(std::make_unique<Loader>(package, "model", false, 2));
        inputs.push_back(input_for(package));
    }
    std::vector<std::uint64_t> sums(2 * packages.size());
    std::vector<std::thread> workers;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        workers.emplace_back([&, i] {
            for (int round = 0; round < 50; ++round) {
                const std::uint64_t sum = digest(loaders[i / 2]->run({inputs[i / 2]}));
                sums[i] = round == 0 || sums[i] == sum ? sum : 0;
            }
        });
    }
    for (std::thread& worker : workers)
        worker.join();
    for (std::size_t i = 0; i < sums.size(); ++i)
        say(packages[i / 2], sums[i]);
    return 0;
}

/// Loaded twice at once, unloaded, loaded again.
int reload(const std::vector<std::string>& packages) {
    for (int round = 0; round < 3; ++round) {
        for (const std::string& package : packages) {
            const at::Tensor input = input_for(package);
            auto first = std::make_unique<Loader>(package);
            const Loader unused(package);
            Loader second(package);
            say(package, digest(first->run({input})));
            first.reset();
            say(package, digest(second.run({input})));
        }
    }
    return 0;
}

/// Runs that a shim function refuses, between runs that are good. Not every model refuses: one whose first
/// kernel is compiled reads past the end of a smaller input, so this wants models that begin with an op.
int refused(const std::vector<std::string>& packages) {
    for (const std::string& package : packages) {
        Loader loader(package);
        const at::Tensor input = input_for(package);
        say(package, digest(loader.run({input})));
        try {
            say("refused", digest(loader.run({input.narrow(-1, 0, 5).contiguous()})));
        } catch (const std::exception& error) {
            const std::string what = error.what();
            std::printf("refused: %s\n", what.substr(0, what.find_first_of("\n(")).c_str());
        }
        say(package, digest(loader.run({input})));
    }
    return 0;
}

int exit_at_once(const std::vector<std::string>& packages) {
    once({packages.front()});
    _exit(5);
}

int abort_at_once(const std::vector<std::string>& packages) {
    once({packages.front()});
    std::abort();
}

struct Mode {
    const char* name;
    int (*run)(const std::vector<std::string>&);
};

const Mode kModes[] = {
    {"results", results},
    {"once", once},
    {"threads", threads},
    {"reload", reload},
    {"refused", refused},
    {"exit_at_once", exit_at_once},
    {"abort_at_once", abort_at_once},
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    g_cuda = std::strcmp(argv[2], "cuda") == 0;
    const std::vector<std::string> packages(argv + 3, argv + argc);
    for (const Mode& mode : kModes) {
        if (std::strcmp(argv[1], mode.name) != 0) continue;
        try {
            return mode.run(packages);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "model_victim: %s\n", error.what());
            return 1;
        }
    }
    return 2;
}

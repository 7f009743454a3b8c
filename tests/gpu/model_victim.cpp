// A C++ program on LibTorch that runs packages of bench/compile_models.py in several ways:
//   model_victim MODE cpu|cuda PACKAGE.pt2...
// It must not use the library. Its output depends only on the results, as hashes of their bytes, so that two
// runs can be compared as text. A model's inputs are stored beside its package.
#include <ATen/Context.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/library.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using Loader = torch::inductor::AOTIModelPackageLoader;

bool g_cuda = false;

// The custom op of tests/models/models.py.
TORCH_LIBRARY(mylib, library) {
    library.def("my_op(Tensor x, float scale) -> Tensor",
                [](const at::Tensor& x, double scale) { return x.mul(scale).add(1.0); });
}

using Inputs = std::vector<at::Tensor>;

/// Returns all inputs of the model.
std::vector<Inputs> inputs_for(const std::string& package) {
    std::ifstream file(package.substr(0, package.rfind('-')) + ".inputs.pt", std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    const c10::IValue saved = torch::jit::pickle_load(bytes);
    std::vector<Inputs> all;
    for (const c10::IValue& one : saved.toListRef()) {
        Inputs& inputs = all.emplace_back();
        for (const c10::IValue& input : one.toListRef())
            inputs.push_back(input.toTensor().to(g_cuda ? at::kCUDA : at::kCPU));
    }
    return all;
}

Inputs first_inputs_for(const std::string& package) {
    return inputs_for(package).front();
}

/// Returns the FNV-1a hash of the bytes of all outputs.
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

/// Returns the package's file name without its directory.
std::string base_name(const std::string& package) {
    return package.substr(package.rfind('/') + 1);
}

void say(const std::string& package, std::uint64_t sum) {
    std::printf("%s %016lx\n", base_name(package).c_str(), static_cast<unsigned long>(sum));
    std::fflush(stdout);
}

/// Runs each package twice, one after another.
int results(const std::vector<std::string>& packages) {
    for (const std::string& package : packages) {
        Loader loader(package);
        const Inputs inputs = first_inputs_for(package);
        for (int i = 0; i < 2; ++i)
            say(package, digest(loader.run(inputs)));
    }
    return 0;
}

/// Runs each package once, for a list of its launches.
int once(const std::vector<std::string>& packages) {
    for (const std::string& package : packages)
        say(package, digest(Loader(package).run(first_inputs_for(package))));
    return 0;
}

/// Runs each package with each of its inputs, after a line with the model's name.
int every_input(const std::vector<std::string>& packages) {
    for (const std::string& package : packages) {
        const std::string name = base_name(package);
        std::printf("model %s\n", name.substr(0, name.rfind('-')).c_str());
        std::fflush(stdout);
        Loader loader(package);
        for (const Inputs& inputs : inputs_for(package))
            say("result", digest(loader.run(inputs)));
    }
    return 0;
}

/// Repeats the first inputs after each of the others, whether or not a run fails.
int failing(const std::vector<std::string>& packages) {
    for (const std::string& package : packages) {
        Loader loader(package);
        const std::vector<Inputs> all = inputs_for(package);
        std::vector<Inputs> sequence = {all.front()};
        for (std::size_t i = 1; i < all.size(); ++i)
            sequence.insert(sequence.end(), {all[i], all.front()});
        for (const Inputs& inputs : sequence) {
            try {
                say(package, digest(loader.run(inputs)));
            } catch (const std::exception&) {
                std::printf("failed\n");
                std::fflush(stdout);
            }
        }
    }
    return 0;
}

/// Runs all packages at once, each in two threads that share it.
int threads(const std::vector<std::string>& packages) {
    std::vector<std::unique_ptr<Loader>> loaders;
    std::vector<Inputs> inputs;
    for (const std::string& package : packages) {
        loaders.push_back(std::make_unique<Loader>(package, "model", false, 2));
        inputs.push_back(first_inputs_for(package));
    }
    std::vector<std::uint64_t> sums(2 * packages.size());
    std::vector<std::thread> workers;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        workers.emplace_back([&, i] {
            for (int round = 0; round < 50; ++round) {
                const std::uint64_t sum = digest(loaders[i / 2]->run(inputs[i / 2]));
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

/// Loads a package twice at once, unloads both and loads it again.
int reload(const std::vector<std::string>& packages) {
    for (int round = 0; round < 3; ++round) {
        for (const std::string& package : packages) {
            const Inputs inputs = first_inputs_for(package);
            auto first = std::make_unique<Loader>(package);
            const Loader unused(package);
            Loader second(package);
            say(package, digest(first->run(inputs)));
            first.reset();
            say(package, digest(second.run(inputs)));
        }
    }
    return 0;
}

/// A shim function rejects runs between successful ones. The models must begin with an op: a compiled first
/// kernel would read past the end of a smaller input.
int refused(const std::vector<std::string>& packages) {
    for (const std::string& package : packages) {
        Loader loader(package);
        const Inputs inputs = first_inputs_for(package);
        say(package, digest(loader.run(inputs)));
        try {
            say("refused", digest(loader.run({inputs[0].narrow(-1, 0, 5).contiguous()})));
        } catch (const std::exception& error) {
            const std::string what = error.what();
            std::printf("refused: %s\n", what.substr(0, what.find_first_of("\n(")).c_str());
        }
        say(package, digest(loader.run(inputs)));
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
    {"every_input", every_input},
    {"failing", failing},
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

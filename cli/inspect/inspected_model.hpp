// The facts about a model that its files alone give. `aoti-dbg inspect` prints them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/inspect/model_files.hpp"
#include "cli/inspect/model_library.hpp"
#include "model/wrapper_info.hpp"

namespace aoti_dbg::cli {

struct TensorSize {
    std::string text;  // 8, s77, 2*s77, or ? if unknown
    std::optional<std::int64_t> least;
    std::optional<std::int64_t> most;
};

struct ModelTensor {
    std::string name;
    std::string dtype;   // float32, empty if unknown
    std::string device;  // cpu, empty if unknown
    std::string place;   // in the call of the exported module, empty if unknown
    bool has_sizes = false;
    std::vector<TensorSize> sizes;
    std::vector<std::string> strides;
};

/// The value of an output that the module returns as None.
inline constexpr const char* kNoOutput = "None";

struct ModelOutput {
    ModelTensor tensor;
    std::string value;   // what the run returns there: buf4, arg0_1, None
    std::string writer;  // the last call that writes it, empty if unknown
};

struct ModelConstant {
    ModelTensor tensor;
    std::string fqn;   // layer.weight, empty if unknown
    std::string kind;  // Parameter, Buffer, FoldedConstant ...
    std::optional<std::uint64_t> bytes;
};

struct ModelKernel {
    std::string name;
    SiteKind kind = SiteKind::op;
    std::uint32_t calls = 0;        // in a run, 0 if unknown
    std::uint32_t conditional = 0;  // those in a branch or loop
    std::vector<std::uint32_t> lines;
    std::vector<std::string> aten;
    std::vector<std::string> nodes;
    std::vector<std::string> pre_grad_nodes;
    std::vector<std::string> stack_traces;
    std::string architecture;
    std::string language;  // of its source in the package: triton, cpp, or empty
};

struct Visible {
    enum class State : std::uint8_t { yes, partly, no };
    State state = State::yes;
    std::string what;
    std::string text;
};

struct InspectedModel {
    std::string name;
    std::string folder;
    std::string device;                      // cpu, cuda, or empty
    std::vector<std::string> architectures;  // sm_90
    std::string cpu_isa;
    std::string platform;
    std::optional<ModelLibrary> library;
    bool has_wrapper = false;
    bool is_complete = true;  // false if the source exceeds the reader's limits
    std::size_t kernel_sources = 0;
    std::size_t cubins = 0;
    bool has_inputs = false;  // false if they are unknown
    bool has_input_guards = false;
    std::vector<ModelTensor> inputs;
    std::vector<ModelOutput> outputs;
    std::string weights = "library";  // where they are: library, package, or program, which loads them itself
    std::vector<ModelConstant> constants;
    std::vector<ModelKernel> kernels;
    std::string printer;              // PyTorch's debug printer: values, files, names, or empty
    std::vector<std::string> checks;  // compiled in, one sentence each
    std::vector<Visible> visible;     // what aoti-dbg can record
};

/// Reads the files of a model, and nothing else.
InspectedModel inspect_model(const ModelFiles& files);

}  // namespace aoti_dbg::cli

#include "cli/replay/script_document.hpp"

#include <algorithm>
#include <cctype>

#include "cli/replay/script_tensors.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::string_view kLoading = R"py(
def load(file):
    packed = zipfile.ZipFile(RECORDING) if RECORDING.is_file() else None
    return torch.load(io.BytesIO(packed.read(file)) if packed else RECORDING / file, weights_only=True)
)py";

constexpr std::string_view kRestoring = R"py(
def restore(file, memory, offset, sizes, strides):
    """Loads a tensor into memory that others share, or with another layout than its file has."""
    saved = load(file)
    tensor = torch.empty(0, dtype=saved.dtype, device=saved.device)
    tensor.set_(memory.untyped_storage(), offset // saved.element_size(), sizes, strides)
    tensor = tensor.conj() if saved.is_conj() else torch._neg_view(tensor) if saved.is_neg() else tensor
    once = tuple(slice(1) if stride == 0 else slice(None) for stride in strides)
    tensor[once].copy_(saved[once])
    return tensor
)py";

constexpr std::string_view kChecking = R"py(
def bits(tensor):
    flat = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).reshape(flat.numel(), flat.element_size())

def check(name, tensor, file):
    saved = load(file)
    assert tensor.shape == saved.shape, f"{name}: expected shape {saved.shape}, got {tensor.shape}"
    wrong = (bits(tensor) != bits(saved)).any(1).nonzero()
    differing = f"{len(wrong)} of {saved.numel()} elements differ, first at "
    print(f"{name}: {differing}{wrong[0].item()}" if len(wrong) else f"{name}: equal")
    return len(wrong) == 0
)py";

constexpr std::string_view kFinding = R"py(
def find_op(name, arguments):
    """Finds the op behind a function of PyTorch's C shim: addmm_out is addmm.out."""
    for library in (torch.ops.aten, torch.ops.mkldnn, torch.ops.mkl, torch.ops.onednn, torch.ops.quantized):
        own = name.removeprefix(library.name + "_")
        for cut in range(len(own), 0, -1):
            packet = getattr(library, own[:cut], None)
            for overload in sorted(packet.overloads(), key="default".__ne__) if packet else []:
                op = getattr(packet, overload)
                known = {one.name: one.has_default_value() for one in op._schema.arguments}
                is_called = own[cut:] in ("", "_" + overload) and arguments.keys() <= known.keys()
                if is_called and all(known[one] for one in known.keys() - arguments.keys()):
                    return op
    sys.exit(f"this PyTorch has no op for {name}({', '.join(arguments)})")
)py";

constexpr std::string_view kResults = R"py(results = torch.utils._pytree.tree_leaves(op(**arguments))
)py";

/// Gives empty lists to an op of the C shim, which gets no list for them.
constexpr std::string_view kEmptyLists =
    R"py(lists = [one.name for one in op._schema.arguments if str(one.type).startswith("List")]
arguments.update({one: [] for one in lists if arguments.get(one, 0) is None})
)py";

/// Returns the op's name without its device and version: aoti_torch_cpu_addmm_out is addmm_out.
std::string short_name(std::string_view name) {
    const auto skip = [&name](std::string_view start) {
        if (name.starts_with(start)) name.remove_prefix(start.size());
    };
    skip("aoti_torch_");
    for (const char* const device : {"cpu_", "cuda_", "xpu_", "aten_"})
        skip(device);
    const std::size_t version = name.rfind("_v");
    const bool has_version = version != std::string_view::npos && version + 3 == name.size() &&
                             std::isdigit(static_cast<unsigned char>(name.back())) != 0;
    return std::string(has_version ? name.substr(0, version) : name);
}

/// What statements of wrappers refer to.
std::string wrapper_names(const std::string& statement) {
    std::string text;
    const auto add = [&](std::string_view used, std::string_view line) {
        if (statement.find(used) != std::string::npos) text += line;
    };
    add("inf", "from math import inf\n");
    add("nan", "from math import nan\n");
    add("device(", "from torch import device\n");
    add("extern_kernels.", "from torch._inductor.select_algorithm import extern_kernels\n");
    if (statement.find("torch.ops.aten.") == std::string::npos) add("aten.", "aten = torch.ops.aten\n");
    add("triton.tools.tensor_descriptor.", "import triton.tools.tensor_descriptor\n");
    add("inductor_ops.", "inductor_ops = torch.ops.inductor\n");
    add("_quantized.", "_quantized = torch.ops._quantized\n");
    return text;
}

/// Returns the name of the kernel in a statement.
std::string kernel_variable(const LaunchRecord& launch) {
    const std::size_t end = launch.statement.find(".run(");
    return end == std::string::npos ? "kernel" : launch.statement.substr(0, end);
}

/// Keeps a name from ending the comment at the top of the script.
std::string plain(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }, '?');
    return text;
}

}  // namespace

std::string script_head(const LaunchFile& file, const RecordedModel& model, const std::string& recording) {
    const LaunchRecord& launch = file.launch;
    std::string text =
        "\"\"\"Repeats a call that aoti-dbg captured, and compares its results bit by bit.\n\n";
    text += "Call:  " + plain(launch.kernel) + ", run " + std::to_string(launch.run) + ", call " +
            std::to_string(launch.call) + (launch.device.empty() ? "" : ", on " + plain(launch.device)) +
            "\n";
    if (!model.name.empty())
        text += "Model: " + plain(model.name) + (model.torch.empty() ? "" : ", torch " + plain(model.torch)) +
                "\n";
    text += "Usage: python SCRIPT [RECORDING]. Exit code: 0 if all results are equal, else 1.\"\"\"\n";
    text += "import io\nimport pathlib\nimport sys\nimport zipfile\n\nimport torch\n";
    if (launch.kind == LaunchKind::triton) text += "from torch._inductor.async_compile import AsyncCompile\n";
    text += wrapper_names(launch.statement);
    return text + "\nRECORDING = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else " +
           python_string(recording) + ")\n";
}

std::string script_functions(bool restores, bool finds_op) {
    std::string text(kLoading);
    if (restores) text += kRestoring;
    text += kChecking;
    if (finds_op) text += kFinding;
    return text;
}

bool is_shim(const std::string& op) {
    return op.starts_with("aoti_torch_");
}

std::string op_call(const std::string& op, bool has_empty_list) {
    if (is_shim(op))
        return "op = find_op(" + python_string(short_name(op)) + ", arguments)\n" +
               std::string(has_empty_list ? kEmptyLists : "") + std::string(kResults);
    std::string name = op;
    if (const std::size_t colons = name.find("::"); colons != std::string::npos) name.replace(colons, 2, ".");
    if (!name.starts_with("torch.ops.")) name.insert(0, "torch.ops.");
    return "op = " + name + "  # a custom op: import the module that registers it\n" + std::string(kResults);
}

std::string kernel_setup(const LaunchRecord& launch, const std::string& kernel_file) {
    const std::string name = python_string(launch.function);
    return "compiler = AsyncCompile()\nsource = (pathlib.Path(__file__).parent / " +
           python_string(kernel_file) + ").read_text()\nkernels = {" + name + ": compiler.triton(" + name +
           ", source, device_str=\"cuda\")}\ncompiler.wait(kernels)\n" + kernel_variable(launch) +
           " = kernels[" + name + "]\nstream = torch.cuda.current_stream().cuda_stream\n";
}

std::string script_end(const std::string& checks) {
    if (checks.empty()) return "print(\"the recording has no results of this call\")\n";
    return "results_are_equal = [\n" + checks + "]\nsys.exit(0 if all(results_are_equal) else 1)\n";
}

}  // namespace aoti_dbg::cli

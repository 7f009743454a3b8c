#include "cli/replay/python_script.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/descriptor.hpp"
#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "cli/replay/recorded_model.hpp"
#include "cli/replay/script_tensors.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLoading = R"py(
def load(file):
    return torch.load(RECORDING / file, weights_only=True)
)py";

constexpr std::string_view kRestoring = R"py(
def restore(file, memory, offset, sizes, strides):
    """Loads a tensor into memory that others share, or with another layout than its file has."""
    saved = load(file)
    start = offset // saved.element_size()
    tensor = torch.empty(0, dtype=saved.dtype, device=saved.device)
    tensor.set_(memory.untyped_storage(), start, sizes, strides)
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

/// One call of a script, in parts.
struct Parts {
    std::string call;    // statements
    std::string checks;  // a list
    bool finds_op = false;
};

Status missing_argument(const LaunchRecord& launch, const LaunchArgument& argument) {
    const std::string name =
        argument.parameter.empty() ? std::to_string(argument.position) : argument.parameter;
    return Status::error("the value of argument " + name + " of " + launch.kernel + " is not recorded");
}

/// Returns the argument as an expression.
Result<std::string> expression_of(const LaunchRecord& launch, const LaunchArgument& argument,
                                  ScriptTensors& tensors) {
    if (!argument.is_known()) return missing_argument(launch, argument);
    if (argument.labels.empty() && !argument.is_list) return argument.value;
    std::string text;
    for (const std::string& label : argument.labels) {
        if (!text.empty()) text += ", ";
        if (label.empty()) {
            text += "None";
            continue;
        }
        Result<std::string> name = tensors.take(label, argument.position);
        if (!name.ok()) return name;
        text += name.value();
    }
    return argument.is_list ? "[" + text + "]" : text;
}

/// A call of a C shim passes a device as its type and its index.
std::optional<std::string> device_of(const std::vector<LaunchArgument>& arguments, std::size_t at) {
    const LaunchArgument& type = arguments[at];
    if (type.parameter != "device" || at + 1 == arguments.size()) return std::nullopt;
    const LaunchArgument& index = arguments[at + 1];
    if (index.parameter != "device_index_" || type.value == "None") return std::nullopt;
    if (type.value == "0") return "\"cpu\"";
    return type.value == "1" ? std::optional("\"cuda:" + index.value + "\"") : std::nullopt;
}

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

/// Returns the items of a list in lines.
std::string wrapped(const std::vector<std::string>& items) {
    constexpr std::size_t kWidth = 100;
    std::string text;
    std::size_t width = kWidth;
    for (const std::string& item : items) {
        const bool fits = width + item.size() + 2 <= kWidth;
        if (!fits) text += text.empty() ? "    " : "\n    ";
        if (fits) text += ' ';
        width = fits ? width + item.size() + 2 : item.size() + 5;
        text += item + ",";
    }
    return text + "\n";
}

class ScriptWriter {
  public:
    ScriptWriter(const LaunchFile& file, ScriptTensors& tensors) : launch_(file.launch), tensors_(tensors) {}

    /// A call of the C shim, or of an op behind the proxy executor.
    Status write_op() {
        std::vector<std::string> items;
        std::size_t results = 0;
        for (std::size_t i = 0; i < launch_.arguments.size(); ++i) {
            const LaunchArgument& argument = launch_.arguments[i];
            if (argument.parameter == "device_index_") continue;
            if (argument.role == Role::makes) {
                check_results(argument, results);
                continue;
            }
            const std::optional<std::string> device = device_of(launch_.arguments, i);
            Result<std::string> value =
                device ? Result<std::string>(*device) : expression_of(launch_, argument, tensors_);
            if (!value.ok()) return value.status();
            has_empty_list_ = has_empty_list_ || is_null_list(i);
            items.push_back(python_string(argument.parameter) + ": " + value.value());
            check_written(argument);
        }
        parts_.call = "arguments = {\n" + wrapped(items) + "}\n" + call_of_op();
        return {};
    }

    /// The statement of a Python wrapper.
    Status write_statement() {
        const std::string& text = launch_.statement;
        for (std::size_t at = 0; at < text.size(); ++at) {
            std::size_t number = 0;
            const auto [end, error] =
                std::from_chars(text.data() + at + 1, text.data() + text.size(), number);
            if (text[at] != '$' || error != std::errc() || number >= launch_.arguments.size()) {
                parts_.call += text[at];
                continue;
            }
            const LaunchArgument& argument = launch_.arguments[number];
            const Result<std::string> value = expression_of(launch_, argument, tensors_);
            if (!value.ok()) return value.status();
            parts_.call += value.value();
            check_written(argument);
            at = static_cast<std::size_t>(end - text.data()) - 1;
        }
        parts_.call += '\n';
        for (const LaunchArgument& argument : launch_.arguments)
            if (argument.role == Role::makes && !argument.labels.empty())
                add_check(argument.labels.front(), argument.position, argument.labels.front());
        return {};
    }

    /// The launch of a kernel by a package, which passes what the kernel's own launcher takes.
    Status write_launch() {
        std::string list;
        for (const LaunchArgument& argument : launch_.arguments) {
            const Result<std::string> value = expression_of(launch_, argument, tensors_);
            if (!value.ok()) return value.status();
            list += value.value() + ", ";
            check_written(argument);
        }
        parts_.call = "kernel.run(" + list + "stream=stream)\n";
        return {};
    }

    [[nodiscard]] Parts& parts() { return parts_; }

  private:
    void add_check(const std::string& label, std::uint32_t position, const std::string& variable) {
        const std::string file = tensors_.file_after(label, position);
        if (!file.empty())
            parts_.checks +=
                "    check(" + python_string(label) + ", " + variable + ", " + python_string(file) + "),\n";
    }

    /// The length of a list in the C shim is an argument of its own, which the record leaves out.
    [[nodiscard]] bool is_null_list(std::size_t at) const {
        const std::vector<LaunchArgument>& all = launch_.arguments;
        return all[at].value == "None" && at + 1 < all.size() && all[at + 1].position == all[at].position + 2;
    }

    void check_written(const LaunchArgument& argument) {
        if (argument.role == Role::reads) return;
        for (const std::string& label : argument.labels) {
            if (label.empty()) continue;
            const Result<std::string> name = tensors_.take(label, argument.position);
            if (name.ok()) add_check(label, argument.position, name.value());
        }
    }

    void check_results(const LaunchArgument& argument, std::size_t& next) {
        for (const std::string& label : argument.labels) {
            // The C shim may leave out a result, so ret2 can come after ret0.
            std::size_t number = next++;
            if (argument.parameter.starts_with("ret"))
                std::from_chars(argument.parameter.data() + 3,
                                argument.parameter.data() + argument.parameter.size(), number);
            add_check(label, argument.position, "results[" + std::to_string(number) + "]");
        }
    }

    [[nodiscard]] std::string call_of_op() {
        constexpr std::string_view kResults = "results = torch.utils._pytree.tree_leaves(op(**arguments))\n";
        parts_.finds_op = launch_.op.starts_with("aoti_torch_");
        constexpr std::string_view kEmptyLists =
            "lists = [one.name for one in op._schema.arguments if str(one.type).startswith(\"List\")]\n"
            "arguments.update({one: [] for one in lists if arguments.get(one, 0) is None})\n";
        if (parts_.finds_op)
            return "op = find_op(" + python_string(short_name(launch_.op)) + ", arguments)\n" +
                   std::string(has_empty_list_ ? kEmptyLists : "") + std::string(kResults);
        std::string name = launch_.op;
        if (const std::size_t colons = name.find("::"); colons != std::string::npos)
            name.replace(colons, 2, ".");
        if (!name.starts_with("torch.ops.")) name.insert(0, "torch.ops.");
        return "op = " + name + "  # a custom op: import the module that registers it\n" +
               std::string(kResults);
    }

    const LaunchRecord& launch_;
    ScriptTensors& tensors_;
    Parts parts_;
    bool has_empty_list_ = false;
};

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
    add("inductor_ops.", "inductor_ops = torch.ops.inductor\n");
    add("_quantized.", "_quantized = torch.ops._quantized\n");
    return text;
}

/// Returns the name of the kernel in a statement.
std::string kernel_variable(const LaunchRecord& launch) {
    const std::size_t end = launch.statement.find(".run(");
    return end == std::string::npos ? "kernel" : launch.statement.substr(0, end);
}

std::string kernel_setup(const LaunchRecord& launch, const std::string& kernel_file) {
    const std::string name = python_string(launch.function);
    return "compiler = AsyncCompile()\nsource = (pathlib.Path(__file__).parent / " +
           python_string(kernel_file) + ").read_text()\nkernels = {" + name + ": compiler.triton(" + name +
           ", source, device_str=\"cuda\")}\ncompiler.wait(kernels)\n" + kernel_variable(launch) +
           " = kernels[" + name + "]\nstream = torch.cuda.current_stream().cuda_stream\n";
}

/// Keeps a name from ending the comment at the top of the script.
std::string plain(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }, '?');
    return text;
}

std::string header_of(const LaunchFile& file, const RecordedModel& model, const std::string& folder) {
    const LaunchRecord& launch = file.launch;
    std::string text =
        "\"\"\"Repeats a call that aoti-dbg captured, and compares its results bit by bit.\n\n";
    text += "Call:  " + plain(launch.kernel) + ", run " + std::to_string(launch.run) + ", call " +
            std::to_string(launch.call) + (launch.device.empty() ? "" : ", on " + plain(launch.device)) +
            "\n";
    if (!model.name.empty())
        text += "Model: " + plain(model.name) + (model.torch.empty() ? "" : ", torch " + model.torch) + "\n";
    text += "Usage: python SCRIPT [RECORDING]. Exit code: 0 if all results are equal, else 1.\n\"\"\"\n";
    text += "import pathlib\nimport sys\n\nimport torch\n";
    if (launch.kind == LaunchKind::triton) text += "from torch._inductor.async_compile import AsyncCompile\n";
    text += wrapper_names(launch.statement);
    return text + "\nRECORDING = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else " +
           python_string(folder) + ")\n";
}

Status write_new(const std::string& path, const std::string& text) {
    const Descriptor file(
        open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0666));
    const auto failed = [&path](const char* what, int error) {
        const std::string remedy = error == EEXIST ? "Set --python to another file."
                                                   : remedy_for(error, "--python", PlaceKind::file);
        return Status::error(file_failure(what, path, error).message() + ". " + remedy);
    };
    if (file.number() < 0) return failed("cannot create", errno);
    const int error = write_fully(file.number(), text.data(), text.size());
    if (error != 0) unlink(path.c_str());
    return error == 0 ? Status() : failed("cannot write", error);
}

}  // namespace

Result<PythonScript> python_script(const LaunchFile& file, const std::string& kernel_file) {
    const LaunchRecord& launch = file.launch;
    const bool is_op = launch.kind == LaunchKind::op;
    if (launch.arguments.empty())
        return Status::error("the arguments of " + launch.kernel + " are not recorded" +
                             (is_op ? "" : ". Capture the launch again"));
    const RecordedModel model = model_of(file);
    PythonScript script;
    if (!is_op) script.kernel = triton_source(model, launch);
    if (!is_op && script.kernel.empty())
        return Status::error("the recording has no Triton source of " + launch.function +
                             ". Record with --evidence on");
    ScriptTensors tensors(file);
    ScriptWriter writer(file, tensors);
    const Status written = !launch.statement.empty() ? writer.write_statement()
                           : is_op                   ? writer.write_op()
                                                     : writer.write_launch();
    if (!written.ok()) return written;
    const Parts& parts = writer.parts();
    script.text = header_of(file, model, tensors.folder());
    script.text += kLoading;
    if (tensors.needs_restore()) script.text += kRestoring;
    script.text += kChecking;
    if (parts.finds_op) script.text += kFinding;
    script.text += "\n" + tensors.loaded();
    if (!is_op) script.text += kernel_setup(launch, kernel_file);
    script.text += parts.call;
    script.text += parts.checks.empty() ? "print(\"the recording has no results of this call\")\n"
                                        : "results_are_equal = [\n" + parts.checks +
                                              "]\nsys.exit(0 if all(results_are_equal) else 1)\n";
    return script;
}

Status write_script(const LaunchFile& file, const std::string& path) {
    const fs::path kernel = fs::path(path).replace_extension(".kernel.py");
    const Result<PythonScript> script = python_script(file, kernel.filename().string());
    if (!script.ok()) return script.status();
    Status written = write_new(path, script.value().text);
    if (!written.ok() || script.value().kernel.empty()) return written;
    written = write_new(kernel.string(), script.value().kernel);
    if (!written.ok()) unlink(path.c_str());
    return written;
}

}  // namespace aoti_dbg::cli

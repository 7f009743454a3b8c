#include <algorithm>
#include <map>
#include <numeric>

#include "base/clean_text.hpp"
#include "base/words.hpp"
#include "cli/inspect/inspect.hpp"
#include "cli/inspect/model_kernels.hpp"
#include "model/python_stack.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kUsualLines = 20;
constexpr std::size_t kWidestName = 40;
constexpr std::size_t kMostNodes = 6;
constexpr unsigned kDescribesInputs = 208;  // the first release that does

std::string line(const char* title, const std::string& text) {
    std::string padded = title;
    padded.resize(12, ' ');
    return padded + clean_text(text) + "\n";
}

std::string column(const std::string& text, std::size_t width) {
    std::string cell = clean_text(text);
    const std::size_t size = characters_in(cell);
    return cell + std::string(size < width ? width - size : 0, ' ');
}

template <typename Item, typename Name>
std::size_t widest(const std::vector<Item>& items, std::size_t count, const Name& name) {
    std::size_t width = 0;
    for (std::size_t i = 0; i < count; ++i)
        width = std::max(width, characters_in(clean_text(name(items[i]))));
    return std::min(width, kWidestName);
}

std::string range_text(const TensorSize& size, std::size_t dimension) {
    if (!size.least && !size.most) return {};
    if (size.least == size.most) return {};
    std::string text = size.least ? std::to_string(*size.least) + " ≤ " : std::string();
    text += size.text == "?" ? "dim " + std::to_string(dimension) : size.text;
    return text + (size.most ? " ≤ " + std::to_string(*size.most) : std::string());
}

std::string shape_text(const ModelTensor& tensor) {
    if (tensor.dtype.empty() && !tensor.has_sizes) return "unknown";
    std::string text = tensor.dtype;
    if (!tensor.has_sizes) return text;
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i)
        text += (i == 0 ? "[" : ",") + tensor.sizes[i].text;
    text += tensor.sizes.empty() ? "[]" : "]";
    return text + (tensor.dtype.empty() ? " of unknown dtype" : "");
}

std::string strides_text(const ModelTensor& tensor) {
    if (tensor.strides.empty() || std::ranges::find(tensor.strides, "?") != tensor.strides.end()) return {};
    return "strides [" + joined(tensor.strides, ",") + "]";
}

/// Adds the rows of a section, and how many are left out.
class Section {
  public:
    Section(const char* title, std::size_t count, bool is_all)
        : title_(title), count_(count), shown_(is_all ? count : std::min(count, kUsualLines)) {}

    [[nodiscard]] std::size_t shown() const { return shown_; }
    [[nodiscard]] std::string rest() const {
        if (shown_ == count_) return {};
        return line("", "... " + std::to_string(count_ - shown_) + " more (--all prints them)");
    }
    [[nodiscard]] std::string head(const std::string& text) const { return line(title_, text); }

  private:
    const char* title_;
    std::size_t count_;
    std::size_t shown_;
};

std::string inputs_text(const InspectedModel& model, bool is_all) {
    const Section section("inputs", model.inputs.size(), is_all);
    if (!model.has_inputs)
        return section.head(model.has_wrapper ? "unknown: the wrapper source does not name them"
                                              : "unknown: the package has no wrapper source");
    const bool is_old =
        model.library && model.library->release != 0 && model.library->release < kDescribesInputs;
    const std::string old = is_old ? " (PyTorch before 2.8)" : "";
    const bool lacks_guards = !model.inputs.empty() && !model.has_input_guards;
    std::string text = section.head(std::to_string(model.inputs.size()) +
                                    (lacks_guards ? ", which the source does not describe" + old : ""));
    const auto name = [](const ModelTensor& input) { return input.name; };
    const std::size_t width = widest(model.inputs, section.shown(), name);
    for (std::size_t i = 0; i < section.shown(); ++i) {
        const ModelTensor& input = model.inputs[i];
        std::vector<std::string> facts;
        for (std::size_t at = 0; at < input.sizes.size(); ++at)
            if (const std::string range = range_text(input.sizes[at], at); !range.empty())
                facts.push_back(range);
        if (const std::string strides = strides_text(input); !strides.empty()) facts.push_back(strides);
        if (!input.device.empty()) facts.push_back("on " + input.device);
        if (!input.place.empty()) facts.push_back("passed as " + input.place);
        text +=
            line("", column(input.name, width) + "  " + column(shape_text(input), facts.empty() ? 0 : 20) +
                         (facts.empty() ? "" : "  ") + joined(facts, ", "));
    }
    return text + section.rest();
}

std::string outputs_text(const InspectedModel& model, bool is_all) {
    const Section section("outputs", model.outputs.size(), is_all);
    if (!model.has_inputs) return {};
    std::string text = section.head(std::to_string(model.outputs.size()));
    const auto name = [](const ModelOutput& output) { return output.tensor.name; };
    const std::size_t width = widest(model.outputs, section.shown(), name);
    for (std::size_t i = 0; i < section.shown(); ++i) {
        const ModelOutput& output = model.outputs[i];
        const bool is_none = output.value == kNoOutput;
        const std::string shape = is_none ? kNoOutput : shape_text(output.tensor);
        std::vector<std::string> facts;
        if (!output.tensor.place.empty()) facts.push_back("returned at " + output.tensor.place);
        if (!output.value.empty() && !is_none) facts.push_back(output.value);
        if (!output.writer.empty()) facts.push_back("written by " + output.writer);
        text += line("", column(output.tensor.name, width) + "  " + column(shape, facts.empty() ? 0 : 20) +
                             (facts.empty() ? "" : "  ") + joined(facts, ", "));
    }
    return text + section.rest();
}

std::string constants_text(const InspectedModel& model, bool is_all) {
    if (!model.has_inputs) return {};
    const Section section("constants", model.constants.size(), is_all);
    std::uint64_t bytes = 0;
    bool is_known = true;
    for (const ModelConstant& constant : model.constants) {
        bytes += constant.bytes.value_or(0);
        is_known = is_known && constant.bytes.has_value();
    }
    std::string sum = std::to_string(model.constants.size());
    if (!model.constants.empty()) sum += ", " + std::string(is_known ? "" : "at least ") + memory_text(bytes);
    if (!model.constants.empty() && model.weights != "library")
        sum += model.weights == "package" ? ", beside the library"
                                          : ", not in the package: the program loads them";
    std::string text = section.head(sum);
    const auto name = [](const ModelConstant& one) { return one.fqn.empty() ? one.tensor.name : one.fqn; };
    const std::size_t width = widest(model.constants, section.shown(), name);
    for (std::size_t i = 0; i < section.shown(); ++i) {
        const ModelConstant& constant = model.constants[i];
        const std::string size = constant.bytes ? memory_text(*constant.bytes) : "size unknown";
        text += line("", column(name(constant), width) + "  " + column(shape_text(constant.tensor), 20) +
                             "  " + column(size, 12) + (constant.kind.empty() ? "" : "  ") + constant.kind);
    }
    return text + section.rest();
}

std::string names_text(const std::vector<std::string>& names, bool is_all) {
    const std::size_t count = is_all ? names.size() : std::min(names.size(), kMostNodes);
    const std::vector<std::string> some(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count));
    return joined(some, ", ") + (count < names.size() ? ", ..." : "");
}

std::string kernel_text(const ModelKernel& kernel, bool is_all) {
    std::string calls = kernel.calls == 0 ? "?" : std::to_string(kernel.calls);
    std::string facts = word_of(kernel.kind);
    if (!kernel.architecture.empty()) facts += ", " + kernel.architecture;
    if (kernel.conditional != 0) facts += ", " + std::to_string(kernel.conditional) + " in a branch or loop";
    std::string text = line("", column(calls, 4) + column(kernel.name, 44) + "  " + facts);
    const auto detail = [&](const char* title, const std::string& what) {
        if (!what.empty()) text += line("", "      " + column(title, 7) + what);
    };
    detail("ATen", names_text(kernel.aten, is_all));
    detail("nodes", names_text(kernel.nodes, is_all));
    for (const std::string& stack : kernel.stack_traces) {
        const std::vector<PythonLine> lines = read_python_stack(stack);
        if (!lines.empty()) detail("Python", text_of(own_line(lines)));
        if (!is_all) break;
    }
    return text;
}

std::string kernels_text(const InspectedModel& model, bool is_all) {
    const Section section("kernels", model.kernels.size(), is_all);
    std::uint32_t calls = 0;
    std::uint32_t conditional = 0;
    bool is_known = true;
    for (const ModelKernel& kernel : model.kernels) {
        calls += kernel.calls;
        conditional += kernel.conditional;
        is_known = is_known && kernel.calls != 0;
    }
    std::string sum = std::to_string(model.kernels.size());
    if (!is_known) sum += ", number of calls unknown";
    if (is_known && calls != 0) sum += ", " + counted(calls, "call") + " per run";
    if (conditional != 0) sum += ", " + std::to_string(conditional) + " in a branch or loop";
    std::string text = section.head(sum);
    for (std::size_t i = 0; i < section.shown(); ++i)
        text += kernel_text(model.kernels[i], is_all);
    return text + section.rest();
}

std::string printer_text(const std::string& printer) {
    if (printer == "values") return "prints values (level 2)";
    if (printer == "files") return "saves tensors (level 1)";
    return printer == "names" ? "prints names (level 3)" : "none";
}

std::string visible_text(const InspectedModel& model) {
    constexpr const char* kWords[] = {"yes", "partly", "no"};
    std::string text;
    for (const Visible& one : model.visible)
        text += line(text.empty() ? "aoti-dbg" : "", column(kWords[static_cast<std::size_t>(one.state)], 8) +
                                                         column(one.what, 20) + one.text);
    return text;
}

std::string compiled_text(const InspectedModel& model) {
    std::vector<std::string> facts;
    facts.push_back("for " + (model.device.empty() ? "an unknown device" : model.device));
    if (!model.architectures.empty()) facts.back() += " " + joined(model.architectures, ", ");
    if (!model.cpu_isa.empty()) facts.push_back("host code for " + model.cpu_isa);
    if (!model.platform.empty()) facts.push_back(model.platform);
    return joined(facts, ", ");
}

std::string files_text(const InspectedModel& model) {
    std::vector<std::string> files;
    if (model.library) files.push_back("library of " + memory_text(model.library->bytes));
    files.emplace_back(model.has_wrapper ? "wrapper source" : "no wrapper source");
    if (model.kernel_sources != 0) files.push_back(counted(model.kernel_sources, "kernel source"));
    if (model.cubins != 0) files.push_back(counted(model.cubins, "cubin"));
    return joined(files, ", ");
}

std::string model_text(const InspectedModel& model, bool is_all) {
    std::string text = line("model", model.name.empty() ? "(unnamed)" : model.name);
    text += line("compiled", compiled_text(model));
    const bool is_readable = model.library && model.library->problem.empty();
    if (is_readable && model.library->release != 0) text += line("release", release_text(*model.library));
    text += line("files", files_text(model));
    if (model.library && !is_readable) text += line("", "the library " + model.library->problem);
    text += inputs_text(model, is_all) + outputs_text(model, is_all) + constants_text(model, is_all) +
            kernels_text(model, is_all);
    std::map<std::string, std::uint32_t> custom;
    for (const ModelKernel& kernel : model.kernels)
        if (is_custom_op(kernel)) custom[kernel.name] += kernel.calls;
    std::string ops;
    for (const auto& [name, calls] : custom)
        ops += (ops.empty() ? "" : ", ") + name + " (" + counted(calls, "call") + ")";
    if (!ops.empty()) text += line("custom ops", ops);
    text += line("printer", printer_text(model.printer));
    text += line("checks", model.checks.empty() ? "none" : joined(model.checks, "; "));
    return text + visible_text(model);
}

}  // namespace

std::string release_text(const ModelLibrary& library) {
    const auto name = [](unsigned release) {
        return std::to_string(release / 100) + "." + std::to_string(release % 100);
    };
    if (library.release == 0) return "an unknown release of PyTorch";
    if (library.next_release == 0) return "PyTorch " + name(library.release) + " or later";
    const unsigned last = library.next_release - 1U;
    if (last == library.release) return "PyTorch " + name(last);
    return "PyTorch " + name(library.release) + (last == library.release + 1U ? " or " : " to ") + name(last);
}

std::string inspect_text(const std::vector<InspectedModel>& models, const std::string& path, bool is_all) {
    std::string text = clean_text(path) + ": " + counted(models.size(), "model") + "\n";
    for (const InspectedModel& model : models)
        text += "\n" + model_text(model, is_all);
    return text;
}

}  // namespace aoti_dbg::cli

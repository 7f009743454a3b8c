#include "cli/inspect/model_tensors.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "model/list_parts.hpp"
#include "model/symbols.hpp"
#include "model/tensor_layout.hpp"
#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg::cli {
namespace {

using Ranges = std::map<std::string, TensorSize, std::less<>>;

/// Returns PyTorch's word for its number of a device type.
std::string device_word(std::optional<std::int64_t> type) {
    if (type == 0) return "cpu";
    if (type == 1) return "cuda";
    return {};
}

TensorSize size_of(std::string text, const Ranges& ranges) {
    const auto known = ranges.find(text);
    if (known != ranges.end()) return known->second;
    TensorSize size;
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && rest == text.data() + text.size()) size.least = size.most = number;
    size.text = std::move(text);
    return size;
}

/// Returns "64*s77" for "64L*s77", and a number for 64L.
std::vector<std::string> plain(const std::vector<std::string>& texts) {
    TensorLayout layout;
    layout.sizes = texts;
    return layout.sizes_as_known({});
}

void set_range(const InputGuard::Size& guard, TensorSize& size) {
    if (!guard.is_said) return;
    size.least = guard.least;
    if (guard.most != INT64_MAX) size.most = guard.most;
}

const InputGuard* guard_at(const WrapperInfo& info, std::size_t position) {
    const auto found = std::ranges::find(info.input_guards, position, &InputGuard::position);
    return found == info.input_guards.end() ? nullptr : &*found;
}

/// Returns "2*s39" for arg9_1_size_1, if the source has `int64_t s39 = (1.0/2.0)*arg9_1_size_1;`.
std::string by_symbols(const RunBody& run, const std::string& size) {
    constexpr std::string_view kBegin = "(1.0/";
    constexpr std::string_view kMiddle = ".0)*";
    for (const auto& [symbol, text] : run.symbols) {
        const std::size_t middle = text.find(kMiddle);
        if (!text.starts_with(kBegin) || middle == std::string::npos) continue;
        const std::string factor = text.substr(kBegin.size(), middle - kBegin.size());
        const bool is_number = factor.find_first_not_of("0123456789") == std::string::npos;
        if (is_number && text.substr(middle + kMiddle.size()) == size) return (factor + '*').append(symbol);
    }
    return size;
}

/// Describes an input by the code that uses it, and by its check.
ModelTensor input_at(const WrapperInfo& info, std::size_t position) {
    ModelTensor facts;
    facts.name = info.inputs[position];
    const TensorLayout layout = layout_of(info, 0, {facts.name, {}});
    const InputGuard* const guard = guard_at(info, position);
    facts.has_sizes = layout.has_sizes;
    for (const std::string& text : plain(layout.sizes))
        facts.sizes.push_back(size_of(by_symbols(info.run, text), {}));
    for (const std::string& text : plain(layout.strides))
        facts.strides.push_back(text);
    if (guard == nullptr) return facts;
    facts.dtype = guard->dtype;
    facts.device = device_word(guard->device_type);
    // A model without calls has no site to ask for.
    if (facts.sizes.size() < guard->sizes.size()) facts.sizes.resize(guard->sizes.size(), {"?", {}, {}});
    for (std::size_t i = 0; i < guard->sizes.size(); ++i) {
        set_range(guard->sizes[i], facts.sizes[i]);
        const bool is_exact = guard->sizes[i].is_said && guard->sizes[i].least == guard->sizes[i].most;
        if (is_exact) facts.sizes[i].text = std::to_string(guard->sizes[i].least);
    }
    // The check names the dtype of a tensor without dimensions, too.
    facts.has_sizes = facts.has_sizes || !guard->dtype.empty();
    return facts;
}

/// Knows which call writes the memory of each tensor last.
class Writers {
  public:
    explicit Writers(const WrapperInfo& info) {
        for (const SharedMemory& shared : info.run.shared_memory)
            // A misaligned input is replaced by a copy.
            if (std::ranges::find(info.inputs, shared.name) == info.inputs.end())
                owners_[shared.name] = owner_of(shared.of);
        for (const CallSite& site : info.run.sites)
            for (const Argument& argument : site.arguments)
                if (argument.role == Role::writes || argument.role == Role::updates)
                    for (const TensorName& tensor : argument.tensors)
                        writers_[owner_of(tensor.name)] = &site;
    }

    /// Returns the name of the call, or an empty text if it is unknown or may not happen.
    [[nodiscard]] std::string writer_of(std::string_view name) const {
        const auto found = writers_.find(owner_of(name));
        if (found == writers_.end() || found->second->region != kNone) return {};
        return found->second->name;
    }

  private:
    [[nodiscard]] std::string_view owner_of(std::string_view name) const {
        const auto found = owners_.find(name);
        return found == owners_.end() ? name : found->second;
    }

    std::map<std::string_view, std::string_view> owners_;
    std::map<std::string_view, const CallSite*> writers_;
};

/// Returns the layout of a returned tensor. Also follows views with names of their own:
/// `auto buf32 = ...reinterpret_tensor_wrapper(buf8, ...); buf8.reset();  // reuse`.
TensorLayout layout_at_end(const WrapperInfo& info, TensorName tensor) {
    const auto last = static_cast<std::uint32_t>(info.run.sites.size() - 1);
    const std::vector<SharedMemory>& all = info.run.shared_memory;
    for (auto shared = all.rbegin(); shared != all.rend(); ++shared) {
        if (shared->name != tensor.name) continue;
        if (std::ranges::find(info.inputs, tensor.name) != info.inputs.end()) break;
        tensor.name = shared->of;
        if (shared->how != SharedMemory::How::view) continue;
        if (!shared->layout || shared->layout->sizes.empty()) return {};
        if (!tensor.view) tensor.view = shared->layout;
        if (tensor.view->dtype.empty()) tensor.view->dtype = shared->layout->dtype;
    }
    return layout_of(info, last, tensor);
}

/// Returns the ranges of the symbols that are a size of an input.
Ranges ranges_of(const std::vector<ModelTensor>& inputs) {
    Ranges ranges;
    for (const ModelTensor& input : inputs)
        for (const TensorSize& size : input.sizes)
            if (size.text != "?" && size.least != size.most) ranges.emplace(size.text, size);
    return ranges;
}

void set_layout(const TensorLayout& layout, const Ranges& ranges, ModelTensor& facts) {
    facts.dtype = layout.dtype;
    facts.has_sizes = layout.has_sizes;
    for (const std::string& text : plain(layout.sizes))
        facts.sizes.push_back(size_of(text, ranges));
    facts.strides = plain(layout.strides);
}

std::optional<DType> dtype_named(std::string_view name) {
    for (std::uint32_t i = 0; i < kDTypes; ++i)
        if (name == dtype_name(static_cast<DType>(i))) return static_cast<DType>(i);
    return std::nullopt;
}

/// Returns the bytes of the elements, or what the table says, which includes padding.
std::optional<std::uint64_t> bytes_of(const ConstantInfo& constant, const std::vector<TensorSize>& sizes,
                                      bool has_sizes) {
    const std::optional<DType> dtype = dtype_named(constant.dtype);
    std::uint64_t bytes = dtype ? element_size(*dtype) : 0;
    bool is_known = dtype.has_value() && has_sizes;
    for (const TensorSize& size : sizes)
        is_known = is_known && size.least && *size.least >= 0 &&
                   !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(*size.least), &bytes);
    if (is_known) return bytes;
    const std::optional<std::int64_t> said = evaluate(constant.data_size, {});
    if (!said || *said < 0) return std::nullopt;
    return static_cast<std::uint64_t>(*said);
}

}  // namespace

std::vector<ModelTensor> inputs_of(const WrapperInfo& info) {
    std::vector<ModelTensor> inputs;
    inputs.reserve(info.inputs.size());
    for (std::size_t i = 0; i < info.inputs.size(); ++i)
        inputs.push_back(input_at(info, i));
    return inputs;
}

std::vector<ModelOutput> outputs_of(const WrapperInfo& info) {
    const Ranges ranges = ranges_of(inputs_of(info));
    const Writers writers(info);
    std::vector<ModelOutput> outputs;
    const std::size_t count = std::max(info.output_names.size(), info.run.outputs.size());
    for (std::size_t i = 0; i < count; ++i) {
        ModelOutput& output = outputs.emplace_back();
        if (i < info.output_names.size()) output.tensor.name = info.output_names[i];
        if (output.tensor.name.empty()) output.tensor.name = "output" + std::to_string(i);
        if (i >= info.run.outputs.size()) continue;
        output.value = info.run.outputs[i].name;
        if (!output.value.empty()) output.writer = writers.writer_of(output.value);
        if (info.run.sites.empty()) continue;
        set_layout(layout_at_end(info, info.run.outputs[i]), ranges, output.tensor);
    }
    return outputs;
}

std::vector<ModelConstant> constants_of(const WrapperInfo& info) {
    std::vector<ModelConstant> constants;
    for (const ConstantInfo& constant : info.constants) {
        ModelConstant& facts = constants.emplace_back();
        facts.tensor.name = constant.name;
        facts.tensor.dtype = constant.dtype;
        facts.fqn = constant.original_fqn;
        facts.kind = constant.from_folded && constant.type.empty() ? "FoldedConstant" : constant.type;
        const auto sizes = list_parts(constant.shape.empty() ? "{}" : std::string_view(constant.shape));
        facts.tensor.has_sizes = sizes.has_value();
        for (const std::string& text : plain(sizes.value_or(std::vector<std::string>())))
            facts.tensor.sizes.push_back(size_of(text, {}));
        facts.tensor.strides = plain(list_parts(constant.stride).value_or(std::vector<std::string>()));
        facts.bytes = bytes_of(constant, facts.tensor.sizes, facts.tensor.has_sizes);
    }
    return constants;
}

}  // namespace aoti_dbg::cli

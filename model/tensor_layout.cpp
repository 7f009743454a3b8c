#include "model/tensor_layout.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "model/list_parts.hpp"
#include "model/reading_limits.hpp"

namespace aoti_dbg {
namespace {

constexpr std::string_view kUnsaid = "?";

std::uint64_t bytes_of_dtype(std::string_view dtype) {
    struct Dtype {
        std::string_view name;
        std::uint64_t bytes;
    };
    constexpr Dtype kDtypes[] = {{"float32", 4}, {"float16", 2},  {"bfloat16", 2}, {"float64", 8},
                                 {"int64", 8},   {"int32", 4},    {"int16", 2},    {"int8", 1},
                                 {"uint8", 1},   {"bool", 1},     {"uint16", 2},   {"uint32", 4},
                                 {"uint64", 8},  {"complex64", 8}};
    for (const Dtype& known : kDtypes)
        if (known.name == dtype) return known.bytes;
    return 0;
}

/// Sets both lists of a tensor.
void set_sizes(std::string_view sizes, std::string_view strides, TensorLayout& layout) {
    std::optional<std::vector<std::string>> size = list_parts(sizes);
    std::optional<std::vector<std::string>> stride = list_parts(strides);
    layout.has_sizes = size && stride && size->size() == stride->size();
    layout.sizes = layout.has_sizes ? *std::move(size) : std::vector<std::string>();
    layout.strides = layout.has_sizes ? *std::move(stride) : std::vector<std::string>();
}

/// Returns N for "arg1_1_size[N]", the size of an input.
std::optional<std::size_t> dimension_of(std::string_view text, std::string_view input) {
    constexpr std::string_view kSize = "_size[";
    if (text.substr(0, input.size()) != input) return std::nullopt;
    text.remove_prefix(input.size());
    if (text.substr(0, kSize.size()) != kSize || text.back() != ']') return std::nullopt;
    text = text.substr(kSize.size(), text.size() - kSize.size() - 1);
    std::size_t dimension = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), dimension);
    const bool is_number = read.ec == std::errc() && read.ptr == text.data() + text.size();
    return is_number && dimension < kMostDimensions ? std::optional(dimension) : std::nullopt;
}

/// Uses the input's check and the symbols that the source has for its sizes.
void set_input(const WrapperInfo& info, const std::string& name, TensorLayout& layout) {
    layout.owner = TensorLayout::Owner::input;
    layout.is_expected = true;
    const auto guard = std::find_if(info.input_guards.begin(), info.input_guards.end(),
                                    [&name](const InputGuard& one) { return one.name == name; });
    if (guard == info.input_guards.end()) return;
    layout.dtype = guard->dtype;
    std::vector<std::string>& sizes = layout.sizes;
    sizes.assign(std::min(std::max(guard->sizes.size(), guard->strides.size()), kMostDimensions),
                 std::string(kUnsaid));
    for (std::size_t i = 0; i < std::min(guard->sizes.size(), sizes.size()); ++i) {
        const InputGuard::Size& size = guard->sizes[i];
        if (size.is_said && size.least == size.most) sizes[i] = std::to_string(size.least);
    }
    for (const auto& [symbol, text] : info.run.symbols) {
        const std::optional<std::size_t> dimension = dimension_of(text, name);
        if (!dimension) continue;
        if (sizes.size() <= *dimension) sizes.resize(*dimension + 1, std::string(kUnsaid));
        if (sizes[*dimension] == kUnsaid) sizes[*dimension] = symbol;
    }
    layout.strides.assign(sizes.size(), std::string(kUnsaid));
    for (std::size_t i = 0; i < std::min(guard->strides.size(), sizes.size()); ++i)
        if (guard->strides[i] >= 0) layout.strides[i] = std::to_string(guard->strides[i]);
    // Without any size it is unknown whether the input has dimensions.
    layout.has_sizes = !sizes.empty();
}

/// Returns the allocation of `name` before that site, or null if it is uncertain.
const Allocation* allocation_of(const WrapperInfo& info, std::uint32_t site, std::string_view name) {
    const auto found =
        std::find_if(info.run.allocations.rbegin(), info.run.allocations.rend(),
                     [&](const Allocation& one) { return one.name == name && one.before <= site; });
    if (found == info.run.allocations.rend()) return nullptr;
    // Only one branch was taken.
    const bool is_passed = found->region == kNone || found->region == info.run.sites[site].region;
    return is_passed ? &*found : nullptr;
}

/// Returns the layout of the whole tensor `name`.
TensorLayout whole_layout(const WrapperInfo& info, std::uint32_t site, std::string_view name) {
    TensorLayout layout;
    const auto is_input = [&] {
        return std::find(info.inputs.begin(), info.inputs.end(), name) != info.inputs.end();
    };
    for (auto shared = info.run.shared_memory.rbegin(); shared != info.run.shared_memory.rend(); ++shared) {
        if (shared->from > site || shared->name != name) continue;
        // A misaligned input is replaced by a copy of the same layout.
        if (is_input()) break;
        if (shared->how == SharedMemory::How::view) return layout;
        name = shared->of;
    }
    const auto is_it = [name](const auto& one) { return one.name == name; };
    if (const Allocation* const allocation = allocation_of(info, site, name)) {
        layout.owner = TensorLayout::Owner::run;
        layout.dtype = allocation->dtype;
        set_sizes(allocation->sizes, allocation->strides, layout);
    } else if (const auto constant = std::find_if(info.constants.begin(), info.constants.end(), is_it);
               constant != info.constants.end()) {
        layout.owner = TensorLayout::Owner::constant;
        layout.is_expected = true;
        layout.dtype = constant->dtype;
        set_sizes(constant->shape, constant->stride, layout);
    } else if (is_input()) {
        set_input(info, std::string(name), layout);
    }
    layout.name = name;
    return layout;
}

std::optional<std::vector<std::int64_t>> numbers_of(const std::vector<std::string>& expressions,
                                                    const Symbols& symbols) {
    std::vector<std::int64_t> numbers;
    for (const std::string& expression : expressions) {
        const std::optional<std::int64_t> number = evaluate(expression, symbols);
        if (!number) return std::nullopt;
        numbers.push_back(*number);
    }
    return numbers;
}

/// Returns the bytes up to the last element, or 0 if there is none or on overflow.
std::uint64_t extent(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides,
                     std::string_view dtype) {
    std::uint64_t elements = 1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        std::int64_t last = 0;
        if (sizes[i] <= 0 || strides[i] < 0 || __builtin_mul_overflow(sizes[i] - 1, strides[i], &last) ||
            __builtin_add_overflow(elements, static_cast<std::uint64_t>(last), &elements))
            return 0;
    }
    std::uint64_t bytes = 0;
    return __builtin_mul_overflow(elements, bytes_of_dtype(dtype), &bytes) ? 0 : bytes;
}

/// Returns "64*s77" for "64L*s77".
std::string plain(std::string_view expression) {
    std::string text;
    for (std::size_t i = 0; i < expression.size(); ++i) {
        const bool is_suffix =
            expression[i] == 'L' && i > 0 && expression[i - 1] >= '0' && expression[i - 1] <= '9';
        if (!is_suffix) text += expression[i];
    }
    return text;
}

/// Returns the only unknown symbol in the sizes and strides, or an empty text if there are several or none.
std::string only_unknown(const TensorLayout& layout, const Symbols& symbols) {
    std::string only;
    for (const std::vector<std::string>* const list : {&layout.sizes, &layout.strides}) {
        for (const std::string& expression : *list) {
            std::string unknown;
            if (evaluate(expression, symbols, &unknown)) continue;
            const bool is_other = !only.empty() && unknown != only;
            if (unknown.empty() || is_other || expression.find('/') != std::string::npos) return {};
            only = unknown;
        }
    }
    return only;
}

}  // namespace

std::uint64_t TensorLayout::bytes(const Symbols& symbols) const {
    const auto size = numbers_of(sizes, symbols);
    const auto stride = numbers_of(strides, symbols);
    return has_sizes && size && stride ? extent(*size, *stride, dtype) : 0;
}

std::optional<std::uint64_t> TensorLayout::bytes_before(const Symbols& symbols) const {
    if (offset.empty()) return 0;
    const std::optional<std::int64_t> elements = evaluate(offset, symbols);
    std::uint64_t bytes = 0;
    if (!elements || *elements < 0) return std::nullopt;
    if (*elements == 0) return 0;
    const std::uint64_t one = bytes_of_dtype(dtype);
    if (one == 0 || __builtin_mul_overflow(static_cast<std::uint64_t>(*elements), one, &bytes))
        return std::nullopt;
    return bytes;
}

std::vector<std::string> TensorLayout::sizes_as_known(const Symbols& symbols) const {
    std::vector<std::string> texts;
    for (const std::string& size : sizes) {
        const std::optional<std::int64_t> number = evaluate(size, symbols);
        texts.push_back(number && *number >= 0 ? std::to_string(*number) : plain(size));
    }
    return texts;
}

TensorLayout layout_of(const WrapperInfo& info, std::uint32_t site, const TensorName& tensor) {
    if (site >= info.run.sites.size()) return {};
    TensorLayout layout = whole_layout(info, site, tensor.name);
    if (!tensor.view) return layout;
    const WrittenView& view = *tensor.view;
    if (!view.dtype.empty()) layout.dtype = view.dtype;
    layout.offset = view.offset;
    if (view.sizes.empty() && view.strides.empty()) return layout;
    // The call gets exactly the view that the source writes. A dtype from outside is still only expected.
    set_sizes(view.sizes, view.strides, layout);
    if (!view.dtype.empty()) layout.is_expected = false;
    return layout;
}

void solve_by_bytes(const WrapperInfo& info, const std::string& name, std::uint64_t bytes, Symbols& symbols) {
    const auto is_it = [&name](const Allocation& one) { return one.name == name; };
    const std::vector<Allocation>& all = info.run.allocations;
    const auto found = std::find_if(all.begin(), all.end(), is_it);
    if (found == all.end() || found->region != kNone || bytes == 0 || bytes > INT64_MAX) return;
    if (std::find_if(found + 1, all.end(), is_it) != all.end()) return;
    TensorLayout layout;
    layout.dtype = found->dtype;
    set_sizes(found->sizes, found->strides, layout);
    const std::string unknown = only_unknown(layout, symbols);
    if (unknown.empty()) return;
    const auto number = [&layout](const Symbols& trial) -> std::optional<std::int64_t> {
        const std::uint64_t known = layout.bytes(trial);
        return known == 0 || known > INT64_MAX ? std::nullopt
                                               : std::optional(static_cast<std::int64_t>(known));
    };
    solve(number, unknown, static_cast<std::int64_t>(bytes), 1, symbols);
}

}  // namespace aoti_dbg

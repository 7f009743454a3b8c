#include "model/launched_tensors.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <optional>

namespace aoti_dbg {
namespace {

using Symbols = std::map<std::string, std::int64_t, std::less<>>;

/// An integer expression of the source: numbers, symbols, + - * / and parentheses.
class Evaluator {
  public:
    Evaluator(std::string_view text, const Symbols& symbols) : rest_(text), symbols_(symbols) {}

    /// Nothing where it is anything else, or does not fit. `unknown` gets the first symbol without a value.
    std::optional<std::int64_t> value(std::string* unknown = nullptr) {
        unknown_ = unknown;
        const std::int64_t result = sum();
        skip_blanks();
        return failed_ || !rest_.empty() ? std::nullopt : std::optional(result);
    }

  private:
    std::int64_t fail() {
        failed_ = true;
        rest_ = {};
        return 0;
    }
    void skip_blanks() {
        while (!rest_.empty() && rest_.front() == ' ')
            rest_.remove_prefix(1);
    }
    char next() {
        skip_blanks();
        return rest_.empty() ? '\0' : rest_.front();
    }
    std::int64_t sum() {
        std::int64_t left = product();
        for (char sign = next(); sign == '+' || sign == '-'; sign = next()) {
            rest_.remove_prefix(1);
            const std::int64_t right = product();
            const bool overflows = sign == '+' ? __builtin_add_overflow(left, right, &left)
                                               : __builtin_sub_overflow(left, right, &left);
            if (overflows) return fail();
        }
        return left;
    }
    std::int64_t product() {
        std::int64_t left = factor();
        for (char sign = next(); sign == '*' || sign == '/'; sign = next()) {
            rest_.remove_prefix(1);
            const std::int64_t right = factor();
            if (sign == '*' && __builtin_mul_overflow(left, right, &left)) return fail();
            if (sign == '/') {
                if (right <= 0) return fail();
                left /= right;
            }
        }
        return left;
    }
    std::int64_t factor() {
        constexpr int kDeepest = 32;
        const char first = next();
        if (first == '(') {
            if (++depth_ > kDeepest) return fail();
            rest_.remove_prefix(1);
            const std::int64_t value = sum();
            if (next() != ')') return fail();
            rest_.remove_prefix(1);
            --depth_;
            return value;
        }
        std::size_t end = 0;
        while (end < rest_.size() &&
               (std::isalnum(static_cast<unsigned char>(rest_[end])) != 0 || rest_[end] == '_'))
            ++end;
        const std::string_view word = rest_.substr(0, end);
        rest_.remove_prefix(end);
        if (word.empty()) return fail();
        return std::isdigit(static_cast<unsigned char>(first)) != 0 ? number(word) : symbol(word);
    }
    std::int64_t number(std::string_view word) {
        while (!word.empty() && word.back() == 'L')
            word.remove_suffix(1);
        constexpr std::size_t kMostDigits = 18;
        if (word.empty() || word.size() > kMostDigits) return fail();
        std::int64_t value = 0;
        for (const char digit : word) {
            if (digit < '0' || digit > '9') return fail();
            value = value * 10 + (digit - '0');
        }
        return value;
    }
    std::int64_t symbol(std::string_view word) {
        const auto known = symbols_.find(word);
        if (known != symbols_.end()) return known->second;
        if (unknown_ != nullptr) *unknown_ = word;
        return fail();
    }

    std::string_view rest_;
    const Symbols& symbols_;
    std::string* unknown_ = nullptr;
    bool failed_ = false;
    int depth_ = 0;
};

/// "{s77, 12L}"
std::optional<std::vector<std::int64_t>> numbers_in(std::string_view text, const Symbols& symbols) {
    if (text.size() < 2 || text.front() != '{' || text.back() != '}') return std::nullopt;
    text = text.substr(1, text.size() - 2);
    std::vector<std::int64_t> numbers;
    while (text.find_first_not_of(' ') != std::string_view::npos) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::optional<std::int64_t> number = Evaluator(text.substr(0, comma), symbols).value();
        if (!number) return std::nullopt;
        numbers.push_back(*number);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return numbers;
}

std::uint64_t bytes_of_dtype(std::string_view dtype) {
    struct Known {
        std::string_view name;
        std::uint64_t bytes;
    };
    constexpr Known kKnown[] = {{"float32", 4}, {"float16", 2},  {"bfloat16", 2}, {"float64", 8},
                                {"int64", 8},   {"int32", 4},    {"int16", 2},    {"int8", 1},
                                {"uint8", 1},   {"bool", 1},     {"uint16", 2},   {"uint32", 4},
                                {"uint64", 8},  {"complex64", 8}};
    for (const Known& known : kKnown)
        if (known.name == dtype) return known.bytes;
    return 0;
}

/// Up to the last element; 0 where there is none, or it does not fit.
std::uint64_t extent(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides,
                     std::string_view dtype) {
    std::uint64_t elements = 1;
    if (sizes.size() != strides.size()) return 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        std::int64_t last = 0;
        if (sizes[i] <= 0 || strides[i] < 0 || __builtin_mul_overflow(sizes[i] - 1, strides[i], &last) ||
            __builtin_add_overflow(elements, static_cast<std::uint64_t>(last), &elements))
            return 0;
    }
    std::uint64_t bytes = 0;
    return __builtin_mul_overflow(elements, bytes_of_dtype(dtype), &bytes) ? 0 : bytes;
}

std::uint64_t extent(std::string_view sizes, std::string_view strides, std::string_view dtype,
                     const Symbols& symbols) {
    const auto size = numbers_in(sizes, symbols);
    const auto stride = numbers_in(strides, symbols);
    return size && stride ? extent(*size, *stride, dtype) : 0;
}

std::uint64_t bytes_of_input(const WrapperInfo& info, const InputGuard& guard, const Symbols& symbols) {
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < guard.sizes.size(); ++i) {
        const InputGuard::Size& size = guard.sizes[i];
        const std::string name = guard.name + "_size[" + std::to_string(i) + "]";
        const auto symbol = std::find_if(
            info.run.symbols.begin(), info.run.symbols.end(),
            [&](const auto& one) { return one.second == name && symbols.count(one.first) != 0; });
        if (symbol != info.run.symbols.end()) {
            sizes.push_back(symbols.find(symbol->first)->second);
        } else if (size.is_said && size.least == size.most) {
            sizes.push_back(size.least);
        } else {
            return 0;
        }
    }
    return extent(sizes, guard.strides, guard.dtype);
}

std::uint64_t bytes_of(const WrapperInfo& info, std::uint32_t site, const TensorName& tensor,
                       const Symbols& symbols) {
    if (tensor.view) {
        return tensor.view->dtype.empty()
                   ? 0
                   : extent(tensor.view->sizes, tensor.view->strides, tensor.view->dtype, symbols);
    }
    std::string_view name = tensor.name;
    const auto is_input = [&] {
        return std::find(info.inputs.begin(), info.inputs.end(), name) != info.inputs.end();
    };
    for (auto shared = info.run.shared_memory.rbegin(); shared != info.run.shared_memory.rend(); ++shared) {
        if (shared->from > site || shared->name != name) continue;
        // An input that is not aligned is replaced by a copy of the same layout.
        if (is_input()) break;
        if (shared->how == SharedMemory::How::view) return 0;
        name = shared->of;
    }
    const auto is_it = [name](const auto& one) { return one.name == name; };
    const auto allocation =
        std::find_if(info.run.allocations.rbegin(), info.run.allocations.rend(),
                     [&](const Allocation& one) { return is_it(one) && one.before <= site; });
    if (allocation != info.run.allocations.rend())
        return extent(allocation->sizes, allocation->strides, allocation->dtype, symbols);
    const auto constant = std::find_if(info.constants.begin(), info.constants.end(), is_it);
    if (constant != info.constants.end())
        return extent(constant->shape, constant->stride, constant->dtype, symbols);
    const auto input = std::find_if(info.input_guards.begin(), info.input_guards.end(), is_it);
    return input == info.input_guards.end() ? 0 : bytes_of_input(info, *input, symbols);
}

std::size_t bytes_of_parameter(std::string_view type) {
    if (type.empty()) return 0;
    if (type.front() == '*') return sizeof(std::uint64_t);
    struct Known {
        std::string_view type;
        std::size_t bytes;
    };
    constexpr Known kKnown[] = {{"i1", 1},   {"i8", 1},   {"u8", 1},  {"i16", 2},  {"u16", 2},
                                {"fp16", 2}, {"bf16", 2}, {"i32", 4}, {"u32", 4},  {"fp32", 4},
                                {"f32", 4},  {"i64", 8},  {"u64", 8}, {"fp64", 8}, {"f64", 8}};
    for (const Known& known : kKnown)
        if (known.type == type) return known.bytes;
    return 0;
}

/// What a launch passes, in the order of its kernel; `parameter` is kNone for a scratch buffer.
struct Passed {
    std::uint32_t parameter = kNone;
    std::uint64_t value = 0;
};

/// Each at its natural alignment. Empty where a type is not known, or all of them are not as long as what
/// the kernel got.
std::vector<Passed> passed(const TritonKernelInfo& kernel, std::string_view parameters) {
    std::vector<Passed> all;
    std::size_t at = 0;
    for (const std::uint32_t number : kernel.launched) {
        const bool is_scratch = number >= kernel.parameters.size();
        const std::size_t bytes =
            is_scratch ? sizeof(std::uint64_t) : bytes_of_parameter(kernel.parameters[number].type);
        if (bytes == 0) return {};
        at = (at + bytes - 1) / bytes * bytes;
        if (at + bytes > parameters.size()) return {};
        Passed one{is_scratch ? kNone : number, 0};
        std::memcpy(&one.value, parameters.data() + at, bytes);
        all.push_back(one);
        at += bytes;
    }
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    return (at + kWord - 1) / kWord == (parameters.size() + kWord - 1) / kWord ? all : std::vector<Passed>();
}

const Argument* argument_of(const CallSite& site, const TritonParameter& parameter) {
    const auto found =
        std::find_if(site.arguments.begin(), site.arguments.end(),
                     [&](const Argument& argument) { return argument.parameter == parameter.name; });
    return found == site.arguments.end() ? nullptr : &*found;
}

/// A symbol of which `expression` is the only one, and that it depends on as a straight line.
void solve(std::string_view expression, std::int64_t value, Symbols& symbols) {
    std::string unknown;
    if (Evaluator(expression, symbols).value(&unknown) || unknown.empty()) return;
    Symbols trial = symbols;
    std::int64_t results[3];
    for (std::int64_t i = 0; i < 3; ++i) {
        trial[unknown] = i;
        const std::optional<std::int64_t> result = Evaluator(expression, trial).value();
        if (!result) return;
        results[i] = *result;
    }
    std::int64_t slope = 0;
    std::int64_t next = 0;
    std::int64_t rise = 0;
    if (__builtin_sub_overflow(results[1], results[0], &slope) ||
        __builtin_sub_overflow(results[2], results[1], &next) ||
        __builtin_sub_overflow(value, results[0], &rise))
        return;
    // The lowest number has no opposite.
    if (slope == 0 || next != slope || (slope == -1 && rise == INT64_MIN) || rise % slope != 0) return;
    const std::int64_t found = rise / slope;
    trial[unknown] = found;
    // A division is no straight line though it may look like one so near to zero.
    const std::optional<std::int64_t> check = Evaluator(expression, trial).value();
    if (found >= 0 && check == value && expression.find('/') == std::string_view::npos)
        symbols[unknown] = found;
}

}  // namespace

std::vector<TensorMemory> launched_tensors(const WrapperInfo& info, std::uint32_t site,
                                           std::string_view parameters) {
    if (site >= info.run.sites.size()) return {};
    const CallSite& call = info.run.sites[site];
    if (call.kernel >= info.triton_kernels.size() || parameters.empty()) return {};
    const TritonKernelInfo& kernel = info.triton_kernels[call.kernel];
    const std::vector<Passed> all = passed(kernel, parameters);
    Symbols symbols;
    for (const Passed& one : all) {
        if (one.parameter == kNone) continue;
        const TritonParameter& parameter = kernel.parameters[one.parameter];
        const Argument* const argument = argument_of(call, parameter);
        if (argument == nullptr) continue;
        if (parameter.type == "i64") solve(argument->value, static_cast<std::int64_t>(one.value), symbols);
        if (parameter.type == "i32") solve(argument->value, static_cast<std::int32_t>(one.value), symbols);
    }
    std::vector<TensorMemory> tensors;
    for (const Passed& one : all) {
        if (one.parameter == kNone || kernel.parameters[one.parameter].type.front() != '*') continue;
        const Argument* const argument = argument_of(call, kernel.parameters[one.parameter]);
        if (argument == nullptr || argument->tensors.size() != 1) continue;
        tensors.push_back({std::string(argument->label()), argument->parameter, one.value,
                           bytes_of(info, site, argument->tensors.front(), symbols)});
    }
    return tensors;
}

}  // namespace aoti_dbg

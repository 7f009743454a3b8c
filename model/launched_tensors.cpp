#include "model/launched_tensors.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "model/tensor_layout.hpp"

namespace aoti_dbg {
namespace {

std::size_t bytes_of_parameter(std::string_view type) {
    if (type.empty()) return 0;
    if (type.front() == '*') return sizeof(std::uint64_t);
    struct Dtype {
        std::string_view type;
        std::size_t bytes;
    };
    constexpr Dtype kDtypes[] = {{"i1", 1},   {"i8", 1},   {"u8", 1},  {"i16", 2},  {"u16", 2},
                                 {"fp16", 2}, {"bf16", 2}, {"i32", 4}, {"u32", 4},  {"fp32", 4},
                                 {"f32", 4},  {"i64", 8},  {"u64", 8}, {"fp64", 8}, {"f64", 8}};
    for (const Dtype& known : kDtypes)
        if (known.type == type) return known.bytes;
    return 0;
}

/// One parameter of a launch, in the kernel's order. `parameter` is kNone for a scratch buffer.
struct Passed {
    std::uint32_t parameter = kNone;
    std::uint64_t value = 0;
};

/// Places each parameter at its natural alignment. Returns an empty list if a type is unknown or the total
/// length differs from what the kernel received.
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
    constexpr std::size_t kMostScratch = 2;  // of Triton 3.4 and later: for the kernel, and for profiling
    const std::size_t said = (at + kWord - 1) / kWord;
    const std::size_t seen = (parameters.size() + kWord - 1) / kWord;
    const std::size_t more = kernel.has_more_scratch ? kMostScratch : 0;
    return said <= seen && seen <= said + more ? all : std::vector<Passed>();
}

/// Uses the fewest digits that identify the number.
template <typename Float>
std::string shortest(Float number) {
    char text[64];
    const auto written = std::to_chars(text, text + sizeof text, number);
    return {text, written.ptr};
}

const Argument* argument_of(const CallSite& site, const TritonParameter& parameter) {
    const auto found =
        std::find_if(site.arguments.begin(), site.arguments.end(),
                     [&](const Argument& argument) { return argument.parameter == parameter.name; });
    return found == site.arguments.end() ? nullptr : &*found;
}

/// Formats the bits as a number of that type. Returns an empty text for other types.
std::string number_text(std::string_view type, std::uint64_t bits) {
    if (type == "i1") return (bits & 1U) != 0 ? "true" : "false";
    if (type == "i8") return std::to_string(static_cast<std::int8_t>(bits));
    if (type == "i16") return std::to_string(static_cast<std::int16_t>(bits));
    if (type == "i32") return std::to_string(static_cast<std::int32_t>(bits));
    if (type == "i64") return std::to_string(static_cast<std::int64_t>(bits));
    if (type == "u8" || type == "u16" || type == "u32" || type == "u64") return std::to_string(bits);
    if (type == "fp32" || type == "f32")
        return shortest(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    if (type == "fp64" || type == "f64") return shortest(std::bit_cast<double>(bits));
    return {};
}

}  // namespace

KernelLaunch::KernelLaunch(const WrapperInfo& info, std::uint32_t site, std::string_view parameters)
    : info_(info), site_(site) {
    if (site >= info.run.sites.size()) return;
    const CallSite& call = info.run.sites[site];
    if (call.kernel >= info.triton_kernels.size() || parameters.empty()) return;
    const TritonKernelInfo& kernel = info.triton_kernels[call.kernel];
    for (const Passed& one : passed(kernel, parameters)) {
        if (one.parameter == kNone) continue;
        const TritonParameter& parameter = kernel.parameters[one.parameter];
        if (const Argument* const argument = argument_of(call, parameter); argument != nullptr)
            passed_.push_back({argument, parameter.type, one.value});
    }
}

Symbols KernelLaunch::symbols() const {
    Symbols symbols;
    for (const Value& one : passed_) {
        if (one.type == "i64") solve(one.argument->value, static_cast<std::int64_t>(one.bits), symbols);
        if (one.type == "i32") solve(one.argument->value, static_cast<std::int32_t>(one.bits), symbols);
    }
    return symbols;
}

std::vector<TensorMemory> KernelLaunch::tensors() const {
    const Symbols known = symbols();
    std::vector<TensorMemory> tensors;
    for (const Value& one : passed_) {
        if (one.type.front() != '*' || one.argument->tensors.size() != 1) continue;
        tensors.push_back({std::string(one.argument->label()), one.argument->parameter, one.bits,
                           layout_of(info_, site_, one.argument->tensors.front()).bytes(known)});
    }
    return tensors;
}

std::string KernelLaunch::value_of(const Argument& argument) const {
    const auto found = std::find_if(passed_.begin(), passed_.end(),
                                    [&argument](const Value& one) { return one.argument == &argument; });
    return found == passed_.end() ? std::string() : number_text(found->type, found->bits);
}

std::vector<TensorMemory> launched_tensors(const WrapperInfo& info, std::uint32_t site,
                                           std::string_view parameters) {
    return KernelLaunch(info, site, parameters).tensors();
}

}  // namespace aoti_dbg

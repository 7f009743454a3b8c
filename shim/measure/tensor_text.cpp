#include "shim/measure/tensor_text.hpp"

#include "shim/measure/number_text.hpp"

namespace aoti_dbg {
namespace {

std::string list_text(const std::vector<std::int64_t>& numbers) {
    std::string text = "[";
    for (std::size_t i = 0; i < numbers.size(); ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
    return text + "]";
}

std::string device_text(const TensorInfo& info) {
    if (info.on_cpu) return "cpu";
    if (!info.on_cuda) return "type " + std::to_string(info.device_type);
    return info.device_index < 0 ? "cuda" : "cuda:" + std::to_string(info.device_index);
}

/// The name that C++ has for it, or PyTorch; as the printer happens to show it.
const char* printed_dtype(DType dtype) {
    switch (dtype) {
        case DType::float64:
            return "double";
        case DType::float8_e4m3fn:
            return "c10::Float8_e4m3fn";
        case DType::float8_e5m2:
            return "c10::Float8_e5m2";
        case DType::float8_e4m3fnuz:
            return "c10::Float8_e4m3fnuz";
        case DType::float8_e5m2fnuz:
            return "c10::Float8_e5m2fnuz";
        case DType::float8_e8m0fnu:
            return "c10::Float8_e8m0fnu";
        case DType::complex32:
            return "c10::complex<c10::Half>";
        case DType::complex64:
            return "c10::complex<float>";
        case DType::complex128:
            return "c10::complex<double>";
        case DType::int8:
            return "signed char";
        case DType::int16:
            return "short int";
        case DType::int32:
            return "int";
        case DType::int64:
            return "long int";
        case DType::uint8:
            return "unsigned char";
        case DType::uint16:
            return "short unsigned int";
        case DType::uint32:
            return "unsigned int";
        case DType::uint64:
            return "long unsigned int";
        default:
            return dtype_name(dtype);
    }
}

std::string dtype_text(const TensorInfo& info) {
    return info.dtype ? printed_dtype(*info.dtype) : "code " + std::to_string(info.dtype_code);
}

/// Integers with all their digits: PyTorch rounds them to six.
std::string exact_text(const Number& number) {
    switch (number.kind) {
        case Number::Kind::signed_integer:
            return std::to_string(number.signed_integer);
        case Number::Kind::unsigned_integer:
            return std::to_string(number.unsigned_integer);
        case Number::Kind::floating:
            break;
    }
    return number_text(number.floating);
}

std::string pair_text(double real, double imaginary) {
    return "(" + number_text(real) + "," + number_text(imaginary) + ")";
}

std::string counts_text(std::uint64_t nan, std::uint64_t positive, std::uint64_t negative) {
    if (nan + positive + negative == 0) return {};
    return "NaN/Inf: " + std::to_string(nan) + " NaN, " + std::to_string(positive) + " +Inf, " +
           std::to_string(negative) + " -Inf\n";
}

std::string statistics_text(const TensorStatistics& statistics) {
    const RealStatistics& real = statistics.real;
    const RealStatistics& imaginary = statistics.imaginary;
    if (is_complex(statistics.dtype)) {
        return "Mean value: " + pair_text(real.all.mean, imaginary.all.mean) + "\n" +
               counts_text(real.nan + imaginary.nan, real.positive_infinity + imaginary.positive_infinity,
                           real.negative_infinity + imaginary.negative_infinity);
    }
    return "Mean value: " + number_text(real.all.mean) + "\n" + "Min value: " + exact_text(real.all.minimum) +
           "\n" + "Max value: " + exact_text(real.all.maximum) + "\n" +
           "Std value: " + number_text(real.all.standard_deviation) + "\n" +
           counts_text(real.nan, real.positive_infinity, real.negative_infinity);
}

}  // namespace

std::string tensor_text(std::string_view title, const TensorInfo& info, const TensorStatistics* statistics) {
    const std::uint64_t count = element_count(info.sizes);
    std::string text = "[  ";
    text.append(title).append("  ]:\n");
    if (statistics != nullptr && count <= kMostPrintedValues) text += values_text(info);
    text += "Number of elements: " + std::to_string(count) + "\n";
    text += "Dtype: " + dtype_text(info) + "\n";
    if (statistics == nullptr) {
        text += std::string("Not measured: ") + (info.unmeasured == nullptr ? "" : info.unmeasured) + "\n";
    } else if (count > 0) {
        text += statistics_text(*statistics);
    }
    text += "Device: " + device_text(info) + "\n";
    text += "Size: " + list_text(info.sizes) + "\n";
    if (info.is_strided) text += "Stride: " + list_text(info.strides) + "\n";
    text += std::string("Layout: ") + (info.is_strided ? "Strided" : "not strided") + "\n";
    text += std::string("Is contiguous: ") + (info.is_contiguous() ? "1" : "0") + "\n";
    text += "Requires grad: 0\n\n";  // gradients are off in a run
    return text;
}

std::string scalar_line(std::string_view title, std::string_view value) {
    std::string line = "[  ";
    return line.append(title).append(": ").append(value).append("  ]\n");
}

}  // namespace aoti_dbg

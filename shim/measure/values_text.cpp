// The values of a small tensor in the layout of at::print: one format for a matrix, chosen by its smallest
// and largest magnitude; tensors of more dimensions as a list of matrices.
#include <cstdlib>
#include <cstring>

#include "shim/measure/number_text.hpp"
#include "shim/measure/tensor_text.hpp"
#include "stats_kernels/element_decode.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kLineWidth = 80;

const char* type_name(DType dtype) {
    switch (dtype) {
        case DType::float64:
            return "Double";
        case DType::float32:
            return "Float";
        case DType::float16:
            return "Half";
        case DType::bfloat16:
            return "BFloat16";
        case DType::float8_e4m3fn:
            return "Float8_e4m3fn";
        case DType::float8_e5m2:
            return "Float8_e5m2";
        case DType::float8_e4m3fnuz:
            return "Float8_e4m3fnuz";
        case DType::float8_e5m2fnuz:
            return "Float8_e5m2fnuz";
        case DType::float8_e8m0fnu:
            return "Float8_e8m0fnu";
        case DType::complex32:
            return "ComplexHalf";
        case DType::complex64:
            return "ComplexFloat";
        case DType::complex128:
            return "ComplexDouble";
        case DType::int8:
            return "Char";
        case DType::int16:
            return "Short";
        case DType::int32:
            return "Int";
        case DType::int64:
            return "Long";
        case DType::uint8:
            return "Byte";
        case DType::uint16:
            return "UInt16";
        case DType::uint32:
            return "UInt32";
        case DType::uint64:
            return "UInt64";
        case DType::boolean:
            return "Bool";
    }
    return "";
}

template <typename Type>
double loaded(const unsigned char* at) {
    Type value;
    memcpy(&value, at, sizeof value);
    return static_cast<double>(value);
}

template <typename Type>
Type bits_at(const unsigned char* at) {
    Type bits;
    memcpy(&bits, at, sizeof bits);
    return bits;
}

double element(DType dtype, const unsigned char* at) {
    switch (dtype) {
        case DType::float64:
            return loaded<double>(at);
        case DType::float32:
            return loaded<float>(at);
        case DType::float16:
            return decode_float16(bits_at<std::uint16_t>(at));
        case DType::bfloat16:
            return decode_bfloat16(bits_at<std::uint16_t>(at));
        case DType::int8:
            return loaded<std::int8_t>(at);
        case DType::int16:
            return loaded<std::int16_t>(at);
        case DType::int32:
            return loaded<std::int32_t>(at);
        case DType::int64:
            return loaded<std::int64_t>(at);
        case DType::uint8:
            return loaded<std::uint8_t>(at);
        case DType::uint16:
            return loaded<std::uint16_t>(at);
        case DType::uint32:
            return loaded<std::uint32_t>(at);
        case DType::uint64:
            return loaded<std::uint64_t>(at);
        case DType::boolean:
            return *at == 0 ? 0 : 1;
        default:
            return decode_float8(dtype, *at);
    }
}

/// In logical order, as doubles, which is how at::print sees them.
std::vector<double> read_values(const TensorInfo& info) {
    const std::uint64_t count = element_count(info.sizes);
    const std::uint32_t bytes = element_size(*info.dtype);
    const auto* data = static_cast<const unsigned char*>(info.data);
    std::vector<double> values;
    for (std::uint64_t number = 0; number < count; ++number) {
        std::int64_t offset = 0;
        auto rest = static_cast<std::int64_t>(number);
        for (std::size_t i = info.sizes.size(); i-- > 0;) {
            offset += rest % info.sizes[i] * info.strides[i];
            rest /= info.sizes[i];
        }
        values.push_back(element(*info.dtype, data + offset * bytes));
    }
    return values;
}

bool is_finite(double value) {
    return value - value == 0;
}

double magnitude(double value) {
    return value < 0 ? -value : value;
}

bool is_whole(double value) {
    return magnitude(value) >= 0x1p53 || value == static_cast<double>(static_cast<std::int64_t>(value));
}

/// Digits before the point; 0 and less for fractions.
int digits_before_point(double value) {
    if (value == 0) return 1;
    const std::string text = scientific_text(value, 17);
    return std::stoi(text.substr(text.find('e') + 1)) + 1;
}

/// How the numbers of one matrix are written.
struct Format {
    enum class Style { general, fixed, scientific } style = Style::general;
    std::size_t width = 0;
    double scale = 1;

    [[nodiscard]] std::string padded(double value) const {
        value /= scale;
        std::string text = style == Style::general ? number_text(value)
                           : style == Style::fixed ? fixed_text(value, 4)
                                                   : scientific_text(value, 4);
        return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
    }
};

Format format_of(const double* values, std::size_t count) {
    bool whole = true;
    bool any = false;
    double smallest = 1;
    double largest = 1;
    for (std::size_t i = 0; i < count; ++i) {
        if (!is_finite(values[i])) continue;
        whole = whole && is_whole(values[i]);
        const double size = magnitude(values[i]);
        if (!any || size < smallest) smallest = size;
        if (!any || size > largest) largest = size;
        any = true;
    }
    const int low = any ? digits_before_point(smallest) : 1;
    const int high = any ? digits_before_point(largest) : 1;
    using Style = Format::Style;
    if (whole) {
        if (high > 9) return {Style::scientific, 11, 1};
        return {Style::general, static_cast<std::size_t>(high > 0 ? high + 1 : 1), 1};
    }
    if (high - low > 4) {
        const bool wide = high > 99 || high < -99 || low > 99 || low < -99;
        return {Style::scientific, wide ? std::size_t{12} : std::size_t{11}, 1};
    }
    if (high > 5 || high < 0) {
        // As a literal would be rounded, which a product of tens is not.
        const double scale = strtod(("1e" + std::to_string(high - 1)).c_str(), nullptr);
        return {Style::fixed, 7, scale};
    }
    return {Style::fixed, high == 0 ? std::size_t{7} : static_cast<std::size_t>(high) + 6, 1};
}

std::string scale_text(double scale) {
    return shortest_text(scale) + " *\n";
}

std::string matrix_text(const double* values, std::size_t rows, std::size_t columns, std::size_t indent) {
    const Format format = format_of(values, rows * columns);
    const std::string margin(indent, ' ');
    const std::size_t in_line = (kLineWidth - indent) / (format.width + 1);
    const bool is_cut = in_line < columns;
    std::string text = is_cut || format.scale != 1 ? std::string() : margin;
    for (std::size_t first = 0; first < columns; first += in_line) {
        const std::size_t end = first + in_line < columns ? first + in_line : columns;
        if (is_cut) {
            if (first != 0) text += "\n";
            text += "Columns " + std::to_string(first + 1) + " to " + std::to_string(end) + margin;
        }
        if (format.scale != 1) text += scale_text(format.scale) + margin;
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t column = first; column < end; ++column)
                text += format.padded(values[row * columns + column]) + (column + 1 == end ? "\n" : " ");
            if (row + 1 < rows) text += margin + (format.scale != 1 ? " " : "");
        }
    }
    return text;
}

std::string vector_text(const std::vector<double>& values) {
    const Format format = format_of(values.data(), values.size());
    std::string text = format.scale == 1 ? std::string() : scale_text(format.scale);
    for (const double value : values)
        text += format.padded(value) + "\n";
    return text;
}

/// Matrices, the first dimension counted fastest.
std::string stack_text(const std::vector<double>& values, const std::vector<std::int64_t>& sizes) {
    const std::size_t leading = sizes.size() - 2;
    const auto rows = static_cast<std::size_t>(sizes[leading]);
    const auto columns = static_cast<std::size_t>(sizes[leading + 1]);
    const std::size_t matrices = values.size() / (rows * columns);
    std::vector<std::size_t> index(leading, 0);
    std::string text;
    for (std::size_t done = 0; done < matrices; ++done) {
        std::size_t number = 0;
        text += done == 0 ? "(" : "\n(";
        for (std::size_t i = 0; i < leading; ++i) {
            number = number * static_cast<std::size_t>(sizes[i]) + index[i];
            text += std::to_string(index[i] + 1) + ",";
        }
        text += ".,.) = \n" + matrix_text(&values[number * rows * columns], rows, columns, 1);
        for (std::size_t i = 0; i < leading && ++index[i] == static_cast<std::size_t>(sizes[i]); ++i)
            index[i] = 0;
    }
    return text;
}

}  // namespace

std::string values_text(const TensorInfo& info) {
    if (is_complex(*info.dtype)) return {};
    const std::vector<double> values = read_values(info);
    std::string text;
    if (info.sizes.empty()) {
        text = shortest_text(values[0]) + "\n";
    } else if (values.empty()) {
        text = {};
    } else if (info.sizes.size() == 1) {
        text = vector_text(values);
    } else if (info.sizes.size() == 2) {
        text = matrix_text(values.data(), static_cast<std::size_t>(info.sizes[0]),
                           static_cast<std::size_t>(info.sizes[1]), 0);
    } else {
        text = stack_text(values, info.sizes);
    }
    text += std::string("[ CPU") + type_name(*info.dtype) + "Type{";
    for (std::size_t i = 0; i < info.sizes.size(); ++i)
        text += (i == 0 ? "" : ",") + std::to_string(info.sizes[i]);
    return text + "} ]\n";
}

}  // namespace aoti_dbg

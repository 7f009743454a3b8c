// Renders the values of a small tensor in the layout of at::print. A matrix has one format, chosen by its
// smallest and largest magnitude. Tensors of more dimensions are lists of matrices.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

#include "serializer/element_value.hpp"
#include "serializer/event_text.hpp"
#include "serializer/number_text.hpp"

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
        case DType::float4_e2m1fn_x2:
            return "Float4_e2m1fn_x2";
    }
    return "";
}

/// Values as doubles, as at::print converts them.
using Values = std::array<double, 2 * kMostPrintedValues>;

bool is_finite(double value) {
    return value - value == 0;
}

double magnitude(double value) {
    return value < 0 ? -value : value;
}

bool is_whole(double value) {
    return magnitude(value) >= 0x1p53 || value == static_cast<double>(static_cast<std::int64_t>(value));
}

/// Returns the digits before the point, and 0 or less for fractions.
int digits_before_point(double value) {
    if (value == 0) return 1;
    std::string text;
    append_scientific(value, 17, text);
    return std::atoi(text.c_str() + text.find('e') + 1) + 1;
}

/// The format of the numbers in one matrix.
struct Format {
    enum class Style { general, fixed, scientific } style = Style::general;
    std::size_t width = 0;
    double scale = 1;

    void append(double value, std::string& out) const {
        value /= scale;
        const std::size_t start = out.size();
        if (style == Style::general) append_general(value, 6, out);
        if (style == Style::fixed) append_fixed(value, 4, out);
        if (style == Style::scientific) append_scientific(value, 4, out);
        const std::size_t length = out.size() - start;
        if (length < width) out.insert(start, width - length, ' ');
    }
};

Format format_of(std::span<const double> values) {
    bool whole = true;
    bool any = false;
    double smallest = 1;
    double largest = 1;
    for (const double value : values) {
        if (!is_finite(value)) continue;
        whole = whole && is_whole(value);
        const double size = magnitude(value);
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
        // strtod rounds the power of ten as a literal, and a product of tens does not.
        const double scale = strtod(("1e" + std::to_string(high - 1)).c_str(), nullptr);
        return {Style::fixed, 7, scale};
    }
    return {Style::fixed, high == 0 ? std::size_t{7} : static_cast<std::size_t>(high) + 6, 1};
}

void append_scale(double scale, std::string& out) {
    append_shortest(scale, out);
    out += " *\n";
}

void append_matrix(std::span<const double> values, std::size_t columns, std::size_t indent,
                   std::string& out) {
    const Format format = format_of(values);
    const std::size_t rows = values.size() / columns;
    const std::size_t in_line = (kLineWidth - indent) / (format.width + 1);
    const bool is_cut = in_line < columns;
    // The first row has no indent, because it follows its prefix.
    for (std::size_t first = 0; first < columns; first += in_line) {
        const std::size_t end = std::min(first + in_line, columns);
        if (is_cut) {
            if (first != 0) out += '\n';
            out.append("Columns ").append(std::to_string(first + 1));
            out.append(" to ").append(std::to_string(end)).append(indent, ' ');
        }
        if (format.scale != 1) {
            append_scale(format.scale, out);
            out.append(indent, ' ');
        }
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t column = first; column < end; ++column) {
                format.append(values[row * columns + column], out);
                out += column + 1 == end ? '\n' : ' ';
            }
            if (row + 1 < rows) out.append(indent + (format.scale != 1 ? 1 : 0), ' ');
        }
    }
}

void append_vector(std::span<const double> values, std::string& out) {
    const Format format = format_of(values);
    if (format.scale != 1) append_scale(format.scale, out);
    for (const double value : values) {
        format.append(value, out);
        out += '\n';
    }
}

/// Appends matrices, with the first dimension varying fastest.
void append_stack(std::span<const double> values, const std::vector<std::int64_t>& sizes, std::string& out) {
    const std::size_t leading = sizes.size() - 2;
    const auto columns = static_cast<std::size_t>(sizes[leading + 1]);
    const std::size_t elements = static_cast<std::size_t>(sizes[leading]) * columns;
    const std::size_t matrices = values.size() / elements;
    std::vector<std::size_t> index(leading, 0);
    for (std::size_t done = 0; done < matrices; ++done) {
        std::size_t number = 0;
        out += done == 0 ? "(" : "\n(";
        for (std::size_t i = 0; i < leading; ++i) {
            number = number * static_cast<std::size_t>(sizes[i]) + index[i];
            out.append(std::to_string(index[i] + 1)).append(",");
        }
        out += ".,.) = \n";
        append_matrix(values.subspan(number * elements, elements), columns, 1, out);
        for (std::size_t i = 0; i < leading && ++index[i] == static_cast<std::size_t>(sizes[i]); ++i)
            index[i] = 0;
    }
}

/// Appends "CPU" for "cpu" and "CUDA" for "cuda:0".
void append_backend(std::string_view device, std::string& out) {
    for (const char letter : device.substr(0, device.find(':')))
        out += letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

double number_at(DType dtype, std::span<const std::byte> bytes, std::size_t index) {
    if (!is_packed(dtype)) return element_value(dtype, bytes.data() + index * element_size(dtype));
    const std::byte number = packed_number(bytes[index / 2], index % 2);
    return element_value(dtype, &number);
}

/// Returns the sizes of the printed numbers. at::print() cannot print packed dtypes, so rows of their numbers
/// are twice as long as rows of elements.
std::vector<std::int64_t> sizes_in_numbers(const TensorFacts& tensor) {
    std::vector<std::int64_t> sizes = tensor.sizes;
    if (!is_packed(tensor.measured_dtype)) return sizes;
    if (sizes.empty()) sizes.push_back(1);
    sizes.back() *= 2;
    return sizes;
}

}  // namespace

void append_values(const TensorFacts& tensor, std::span<const std::byte> bytes, std::string& out) {
    const DType dtype = tensor.measured_dtype;
    const std::uint64_t count = element_count(tensor.sizes);
    if (is_complex(dtype) || count > kMostPrintedValues || bytes.size() != count * element_size(dtype)) {
        return;
    }
    Values all{};
    const std::size_t numbers = numbers_in_part(dtype, count);
    for (std::size_t i = 0; i < numbers; ++i)
        all[i] = number_at(dtype, bytes, i);
    const std::vector<std::int64_t> sizes = sizes_in_numbers(tensor);
    const std::span<const double> values(all.data(), numbers);
    if (sizes.empty()) {
        append_shortest(values[0], out);
        out += '\n';
    } else if (count > 0 && sizes.size() == 1) {
        append_vector(values, out);
    } else if (count > 0 && sizes.size() == 2) {
        append_matrix(values, static_cast<std::size_t>(sizes[1]), 0, out);
    } else if (count > 0) {
        append_stack(values, sizes, out);
    }
    out += "[ ";
    append_backend(tensor.device, out);
    out.append(type_name(dtype)).append("Type{");
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
        if (i != 0) out += ',';
        append_integer(tensor.sizes[i], out);
    }
    out += "} ]\n";
}

}  // namespace aoti_dbg

// See main_tensors.hpp.
#include "cli/page/main_tensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>

#include "cli/page/page_text.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr unsigned kDropped = 14;  // of a float's bits
constexpr std::uint32_t kUnknownCode = 0x3'ffff;
constexpr std::uint32_t kNanCode = 0x1'ff00;

std::uint32_t code_of(double number) {
    if (std::isnan(number))
        return std::bit_cast<std::uint64_t>(number) == kUnknownBits ? kUnknownCode : kNanCode;
    const double size = std::abs(number);
    constexpr double kMost = std::numeric_limits<float>::max();
    constexpr double kLeast = std::numeric_limits<float>::min();
    if (!std::isinf(number) && (size > kMost || (size < kLeast && size != 0))) return kUnknownCode;
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(number));
    const std::uint32_t code = bits >> kDropped;
    const bool is_up = (bits >> (kDropped - 1) & 1U) != 0;
    // The largest floats would become infinite.
    return is_up && std::isfinite(std::bit_cast<float>((code + 1) << kDropped)) ? code + 1 : code;
}

bool has_role(const PageSite& site, const RowTensor& tensor, bool is_after, bool is_known) {
    const Role role = site.arguments[tensor.argument].role;
    if (!is_known) return role == Role::unknown;
    return is_after ? role == Role::writes || role == Role::updates || role == Role::makes
                    : role == Role::reads || role == Role::updates;
}

std::vector<const RowTensor*> candidates(const PageSite& site, const std::vector<RowTensor>& tensors,
                                         bool is_after) {
    std::vector<const RowTensor*> chosen;
    for (const bool is_known : {true, false}) {
        for (const RowTensor& tensor : tensors)
            if (has_role(site, tensor, is_after, is_known)) chosen.push_back(&tensor);
        if (!chosen.empty()) return chosen;
    }
    for (const RowTensor& tensor : tensors)
        chosen.push_back(&tensor);
    return chosen;
}

std::string side_json(const Page& page, const std::vector<std::uint32_t>& rows, bool is_after) {
    std::string numbers;
    std::vector<std::int64_t> nan;
    std::vector<std::int64_t> infinite;
    constexpr std::uint64_t kMostExact = std::uint64_t{1} << 53U;
    for (const std::uint32_t index : rows) {
        const PageRow& row = page.rows.rows[index];
        const RowTensor* const tensor =
            main_tensor(page.rows.sites[row.site], is_after ? row.after : row.before, is_after);
        const bool is_measured = tensor != nullptr && tensor->is_measured;
        const bool has_moments = is_measured && tensor->has_moments;
        const std::array<double, 4> moments =
            has_moments ? std::array{tensor->mean, tensor->deviation, tensor->minimum, tensor->maximum}
                        : std::array{kUnknown, kUnknown, kUnknown, kUnknown};
        for (const double moment : moments)
            append_packed(moment, numbers);
        // -1: not measured.
        nan.push_back(is_measured ? static_cast<std::int64_t>(std::min(tensor->nan, kMostExact)) : -1);
        infinite.push_back(is_measured ? static_cast<std::int64_t>(std::min(tensor->infinite, kMostExact))
                                       : -1);
    }
    std::string text = "{";
    if (!page.is_confidential) append_text_member("numbers", numbers, text);
    append_name("nan", text);
    append_column(nan, text);
    append_name("inf", text);
    append_column(infinite, text);
    return text + "}";
}

}  // namespace

void append_packed(double number, std::string& out) {
    const std::uint32_t code = code_of(number);
    for (const unsigned shift : {12U, 6U, 0U})
        out += kBase64[code >> shift & 63U];
}

const RowTensor* main_tensor(const PageSite& site, const std::vector<RowTensor>& tensors, bool is_after) {
    const std::vector<const RowTensor*> all = candidates(site, tensors, is_after);
    const auto first = [&](auto is_requested) {
        const auto found = std::ranges::find_if(all, is_requested);
        return found == all.end() ? nullptr : *found;
    };
    if (const auto* one = first([](const RowTensor* tensor) { return tensor->nan > 0; })) return one;
    if (const auto* one = first([](const RowTensor* tensor) { return tensor->infinite > 0; })) return one;
    if (const auto* one = first([](const RowTensor* tensor) { return tensor->has_moments; })) return one;
    if (const auto* one = first([](const RowTensor* tensor) { return tensor->is_measured; })) return one;
    return all.empty() ? nullptr : all.front();
}

std::string main_tensors_json(const Page& page, const std::vector<std::uint32_t>& rows) {
    return ",\"main\":{\"before\":" + side_json(page, rows, false) +
           ",\"after\":" + side_json(page, rows, true) + "}";
}

}  // namespace aoti_dbg::cli

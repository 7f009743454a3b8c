#include "shim/check/mismatch.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/words.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg {
namespace {

// The export gives every dynamic dimension this lower bound, because it specializes sizes 0 and 1. The
// compiled code usually works with both. The bound is therefore ignored, because it looks the same as an
// intended one.
constexpr std::int64_t kBoundOfEveryExport = 2;

std::string list_text(std::span<const std::int64_t> list) {
    std::string text = "[";
    for (const std::int64_t number : list)
        text += (text.size() == 1 ? "" : ", ") + std::to_string(number);
    return text + "]";
}

std::string at_dimension(std::int64_t number, std::size_t dimension) {
    return std::to_string(number) + " at dim " + std::to_string(dimension);
}

/// Returns the word before the colon: "cuda" for "cuda:1".
std::string_view kind_of(std::string_view device) {
    return device.substr(0, device.find(':'));
}

/// Converts PyTorch's number of a device type that models are checked for.
std::string_view device_word(std::int64_t type) {
    constexpr std::string_view kWords[] = {"cpu", "cuda"};
    return type == 0 || type == 1 ? kWords[type] : std::string_view();
}

std::optional<Mismatch> wrong_dtype(const InputGuard& guard, const TensorFacts& tensor) {
    // A dtype without a name here cannot be compared.
    const bool is_known = tensor.dtype.find(' ') == std::string::npos;
    if (guard.dtype.empty() || !is_known || guard.dtype == tensor.dtype) return std::nullopt;
    return Mismatch{"dtype", guard.dtype, tensor.dtype,
                    "convert it: " + guard.name + ".to(torch." + guard.dtype + ")"};
}

std::optional<Mismatch> wrong_device(const InputGuard& guard, const TensorFacts& tensor) {
    const std::string_view expected =
        guard.device_type ? device_word(*guard.device_type) : std::string_view();
    if (expected.empty() || expected == kind_of(tensor.device)) return std::nullopt;
    const std::string word(expected);
    return Mismatch{"device", word, tensor.device,
                    "move it: " + guard.name + ".to(\"" + word +
                        "\"), or load the package that was compiled for " +
                        std::string(kind_of(tensor.device))};
}

/// The number of dimensions that the source mentions. With `is_exact`, a tensor with more dimensions is wrong
/// too.
struct Rank {
    std::size_t least = 0;
    bool is_exact = true;
};

/// If dynamic sizes have no bounds, the source may omit a trailing dimension. An omission in between shows
/// that this is such a source.
Rank rank_of(const InputGuard& guard) {
    Rank rank;
    for (std::size_t i = 0; i < guard.sizes.size(); ++i) {
        if (guard.sizes[i].is_said) rank.least = i + 1;
        rank.is_exact = rank.is_exact && guard.sizes[i].is_said;
    }
    for (std::size_t i = rank.least; i < guard.strides.size(); ++i) {
        if (guard.strides[i] < 0) continue;
        rank = {i + 1, false};
    }
    return rank;
}

std::optional<Mismatch> wrong_rank(const InputGuard& guard, const TensorFacts& tensor) {
    const Rank rank = rank_of(guard);
    const bool is_right = rank.is_exact && !guard.sizes.empty() ? tensor.sizes.size() == rank.least
                                                                : tensor.sizes.size() >= rank.least;
    if (is_right) return std::nullopt;
    return Mismatch{"rank", std::to_string(rank.least),
                    std::to_string(tensor.sizes.size()) + " (shape " + list_text(tensor.sizes) + ")",
                    "pass a tensor with as many dimensions as the example that the model was exported with"};
}

/// Returns what is wrong with one size, without the actual value. Returns nothing if the size is right.
std::optional<Mismatch> wrong_size_at(const InputGuard::Size& size, std::int64_t given, std::size_t i) {
    if (size.is_said && size.least == size.most && given != size.least)
        return Mismatch{"size", at_dimension(size.least, i), "",
                        "pass this size, or export the model with this dimension as a dynamic one"};
    if (given > size.most)
        return Mismatch{"size", "≤ " + at_dimension(size.most, i), "",
                        "stay within the bounds of the export, or export with larger bounds: "
                        "torch.export.Dim(..., max=...)"};
    if (given < size.least && size.least > kBoundOfEveryExport)
        return Mismatch{"size", "≥ " + at_dimension(size.least, i), "",
                        "stay within the bounds of the export, or export with other bounds: "
                        "torch.export.Dim(..., min=...)"};
    return std::nullopt;
}

/// Combines all wrong sizes. The advice is that for the first one.
std::optional<Mismatch> wrong_size(const InputGuard& guard, const TensorFacts& tensor) {
    std::optional<Mismatch> wrong;
    std::string found;
    for (std::size_t i = 0; i < std::min(guard.sizes.size(), tensor.sizes.size()); ++i) {
        std::optional<Mismatch> one = wrong_size_at(guard.sizes[i], tensor.sizes[i], i);
        if (!one) continue;
        found += (wrong ? " and " : "") + std::to_string(tensor.sizes[i]);
        if (wrong)
            wrong->expected += ", " + one->expected;
        else
            wrong = std::move(one);
    }
    if (wrong) wrong->found = found + " (shape " + list_text(tensor.sizes) + ")";
    return wrong;
}

std::optional<Mismatch> wrong_stride(const InputGuard& guard, const TensorFacts& tensor) {
    const bool is_empty = std::find(tensor.sizes.begin(), tensor.sizes.end(), 0) != tensor.sizes.end();
    if (is_empty || !tensor.is_strided) return std::nullopt;
    const std::size_t rank = std::min({guard.strides.size(), tensor.strides.size(), tensor.sizes.size()});
    for (std::size_t i = 0; i < rank; ++i) {
        // The stride of a dimension with one element has no effect.
        const bool matters = guard.strides[i] >= 0 && tensor.sizes[i] > 1;
        if (!matters || guard.strides[i] == tensor.strides[i]) continue;
        return Mismatch{"stride", at_dimension(guard.strides[i], i),
                        std::to_string(tensor.strides[i]) + " (strides " + list_text(tensor.strides) + ")",
                        "pass the layout of the example that the model was exported with, usually " +
                            guard.name + ".contiguous()"};
    }
    return std::nullopt;
}

}  // namespace

std::vector<Mismatch> compare_input(const InputGuard& guard, bool relies_on_strides,
                                    const TensorFacts& tensor) {
    std::vector<Mismatch> wrong;
    const auto add = [&wrong](std::optional<Mismatch> mismatch) {
        if (mismatch) wrong.push_back(std::move(*mismatch));
        return !wrong.empty();
    };
    add(wrong_device(guard, tensor));
    add(wrong_dtype(guard, tensor));
    // With a different rank, the dimensions cannot be compared one by one.
    if (std::optional<Mismatch> rank = wrong_rank(guard, tensor)) {
        wrong.push_back(std::move(*rank));
        return wrong;
    }
    std::optional<Mismatch> size = wrong_size(guard, tensor);
    // Different sizes imply different strides.
    if (!size && relies_on_strides) add(wrong_stride(guard, tensor));
    add(std::move(size));
    return wrong;
}

std::optional<Mismatch> compare_pointer(std::uint64_t address, std::uint32_t alignment,
                                        const PointerFacts& facts) {
    if (!facts.is_known && !facts.may_reach_host)
        return Mismatch{"memory", "device memory",
                        hex_text(address) + ", which the driver does not know (host memory, or freed)",
                        "make sure that the tensor is on the device and stays alive until the run returns"};
    if (facts.device && facts.kernel_device && *facts.device != *facts.kernel_device)
        return Mismatch{"device", device_name(*facts.kernel_device), device_name(*facts.device),
                        "put inputs and constants on the device that the model was loaded for"};
    if (alignment != 0 && address % alignment != 0)
        return Mismatch{
            "alignment", std::to_string(alignment) + "-byte alignment", hex_text(address),
            "the kernel was compiled for aligned memory: pass a tensor that does not start in the middle of "
            "another one, such as a clone"};
    return std::nullopt;
}

std::optional<Mismatch> compare_view(const ViewFacts& view) {
    __extension__ using Wide = __int128;
    Wide last = view.offset;
    for (std::size_t i = 0; i < view.sizes.size(); ++i) {
        if (view.sizes[i] <= 0 || view.strides[i] < 0) return std::nullopt;
        last += static_cast<Wide>(view.sizes[i] - 1) * view.strides[i];
        if (last > INT64_MAX)
            return std::nullopt;  // no tensor has such sizes, and the op rejects them itself
    }
    const Wide needed = (last + 1) * view.element_bytes;
    if (view.offset < 0 || view.storage_bytes < 0 || needed <= view.storage_bytes) return std::nullopt;
    return Mismatch{"storage",
                    "a storage of at least " + std::to_string(static_cast<std::uint64_t>(needed)) +
                        " bytes (sizes " + list_text(view.sizes) + ", strides " + list_text(view.strides) +
                        ", offset " + std::to_string(view.offset) + ")",
                    std::to_string(view.storage_bytes) + " bytes",
                    "the tensor is smaller than the compiled code assumes: check the sizes of the inputs"};
}

}  // namespace aoti_dbg

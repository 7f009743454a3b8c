#include "cli/replay/smaller_contents.hpp"

#include <algorithm>
#include <cstring>

#include "cli/replay/smaller_launch.hpp"
#include "cli/tensor_elements.hpp"
#include "serializer/crc32.hpp"
#include "serializer/element_value.hpp"
#include "serializer/pt_file.hpp"
#include "stats_kernels/cpu_statistics.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{8} << 30U;  // of the elements

FileContents pt_in_memory(const PtTensor& tensor, const std::vector<std::byte>& storage) {
    const PtFrame frame = pt_frame(tensor, crc32(0, storage));
    std::vector<std::byte> bytes = frame.head;
    bytes.insert(bytes.end(), storage.begin(), storage.end());
    bytes.insert(bytes.end(), frame.tail.begin(), frame.tail.end());
    return in_memory(std::move(bytes));
}

bool is_zero(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

Result<SavedContents> SavedContents::read(const FileContents& file) {
    Result<PtView> view =
        read_pt(file.bytes, file.is_checked ? PtCheck::all_but_checksums : PtCheck::everything);
    if (!view.ok()) return view.status();
    SavedContents contents;
    contents.file_ = file;
    contents.view_ = std::move(view.value());
    const PtView& own = contents.view_;
    const std::size_t size = contents.size();
    if (element_count(own.sizes) > kMostBytes / size)
        return Status::error("unchanged, because it is too large");
    contents.elements_ = elements_in_order(own);
    return contents;
}

std::vector<std::byte> SavedContents::element(std::size_t index) const {
    const auto begin = elements_.begin() + static_cast<std::ptrdiff_t>(index * size());
    return {begin, begin + static_cast<std::ptrdiff_t>(size())};
}

std::optional<std::vector<std::byte>> SavedContents::constant() const {
    // All are equal if each is equal to its successor.
    if (elements_.empty() ||
        std::memcmp(elements_.data(), elements_.data() + size(), elements_.size() - size()) != 0)
        return std::nullopt;
    return element(0);
}

std::vector<std::vector<std::byte>> SavedContents::candidates() const {
    std::vector<std::vector<std::byte>> found{std::vector<std::byte>(size())};
    const auto add = [&](std::uint64_t index) {
        if (index == kNoIndex) return;
        std::vector<std::byte> candidate = element(index);
        if (std::ranges::find(found, candidate) == found.end()) found.push_back(std::move(candidate));
    };
    const std::int64_t sizes[] = {static_cast<std::int64_t>(elements_.size() / size())};
    const std::int64_t strides[] = {1};
    if (!is_packed(view_.dtype)) {
        const TensorStatistics statistics =
            measure({elements_.data(), view_.dtype, sizes, strides}, Requested::printed | Requested::indices);
        add(statistics.real.minimum_index);
        add(statistics.real.maximum_index);
    }
    add(0);
    return found;
}

std::size_t SavedContents::row_count() const {
    return view_.sizes.empty() ? 1 : static_cast<std::size_t>(view_.sizes[0]);
}

Rows SavedContents::rows() const {
    Rows rows;
    if (view_.sizes.empty() || (view_.strides[0] == 0 && view_.sizes[0] > 1)) return rows;
    const std::size_t bytes = elements_.size() / row_count();
    for (std::size_t row = 0; row < row_count(); ++row)
        if (!is_zero(std::span(elements_).subspan(row * bytes, bytes))) rows.push_back(row);
    return rows;
}

FileContents SavedContents::filled_with(const std::vector<std::byte>& element) const {
    const std::vector<std::int64_t> strides(view_.sizes.size(), 0);
    return pt_in_memory({view_.dtype, view_.sizes, strides, 0, element.size(), view_.device, view_.bits},
                        element);
}

FileContents SavedContents::with_rows(const Rows& rows) const {
    std::vector<std::byte> storage(view_.storage.size());
    const Layout row_layout =
        collapse(std::span(view_.sizes).subspan(1), std::span(view_.strides).subspan(1));
    for (const std::size_t row : rows) {
        const std::size_t begin =
            static_cast<std::size_t>(view_.storage_offset) + row * static_cast<std::size_t>(view_.strides[0]);
        const auto copy = [&](std::size_t offset, std::size_t count) {
            const std::size_t at = (begin + offset) * size();
            std::memcpy(storage.data() + at, view_.storage.data() + at, count * size());
        };
        if (row_layout.is_contiguous())
            copy(0, element_count({row_layout.sizes, row_layout.rank}));
        else
            for_each_offset(row_layout, [&](std::size_t offset) { copy(offset, 1); });
    }
    return pt_in_memory({view_.dtype, view_.sizes, view_.strides, view_.storage_offset, storage.size(),
                         view_.device, view_.bits},
                        storage);
}

std::string SavedContents::text_of(const std::vector<std::byte>& element) const {
    if (is_zero(element)) return "0";
    const DType part = part_dtype(view_.dtype);
    std::string text;
    for (std::uint32_t i = 0; i < numbers_in_element(view_.dtype); ++i) {
        if (i != 0) text += ", ";
        if (is_packed(view_.dtype)) {
            const std::byte number = packed_number(element[0], i);
            append_json_element(part, &number, text);
        } else {
            append_json_element(part, element.data() + std::size_t{i} * element_size(part), text);
        }
    }
    std::erase(text, '"');
    return text;
}

}  // namespace aoti_dbg::cli

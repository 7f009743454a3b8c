#include "cli/tensor_files.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>

#include "base/fnv.hpp"
#include "cli/tensor_elements.hpp"
#include "serializer/event_fields.hpp"
#include "serializer/event_words.hpp"
#include "serializer/pt_reader.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{8} << 30U;  // of a tensor's elements

/// A call can have two views of one tensor, which share its label.
std::uint64_t key_of(const SavedPlace& place) {
    const std::uint64_t numbers = fnv1a(place.position, fnv1a(place.call, fnv1a(place.run, kFnvBegin)));
    return fnv1a(place.label, fnv1a(static_cast<std::uint64_t>(place.side), numbers));
}

/// Tensors of events-4242.jsonl are in tensors-4242.
fs::path index_beside(const fs::path& events) {
    std::string folder = events.stem().string();
    if (folder.rfind("events", 0) == 0) folder.replace(0, 6, "tensors");
    return events.parent_path() / folder / "index.jsonl";
}

/// Another recording may have the tensor as a view: the same elements in the same order, which needs nothing,
/// or with permuted dimensions, which its strides show.
PtView in_shape(PtView view, const TensorFacts& facts) {
    const std::size_t rank = facts.sizes.size();
    // The file of a reference is contiguous.
    if (rank != view.sizes.size() || facts.strides.size() != rank ||
        !std::ranges::is_sorted(view.strides, std::ranges::greater()))
        return view;
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return facts.strides[i]; });
    PtView permuted = view;
    for (std::size_t i = 0; i < rank; ++i) {
        if (facts.sizes[order[i]] != view.sizes[i]) return view;
        permuted.sizes[order[i]] = view.sizes[i];
        permuted.strides[order[i]] = view.strides[i];
    }
    return permuted;
}

std::span<const std::byte> contiguous(const PtView& view, std::uint64_t count) {
    const std::size_t size = element_size(view.dtype);
    return view.storage.subspan(static_cast<std::size_t>(view.storage_offset) * size, count * size);
}

}  // namespace

std::optional<SavedPlace> saved_place(JsonLine::Value line) {
    const std::optional<EventSide> side = side_of(line.member("side").text());
    if (line.member("event").text() != "file" || !side) return std::nullopt;
    SavedPlace place;
    place.side = *side;
    read_integer(line.member("run"), place.run);
    read_integer(line.member("call"), place.call);
    read_integer(line.member("position"), place.position);
    place.label = string_of(line.member("label"));
    return place;
}

Status TensorFiles::read_index() {
    if (is_read_) return {};
    is_read_ = true;
    const fs::path index = index_beside(events_);
    Result<FileContents> contents = files_->open(index.string());
    if (!contents.ok()) return contents.status();
    index_ = std::move(contents.value());
    JsonLine json;
    folders_.push_back(index.parent_path().string());
    std::string_view rest = index_.text();
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (line.empty() || !json.parse(line)) continue;
        const JsonLine::Value root = json.root();
        if (const std::string_view folder = root.member("folder").text(); !folder.empty())
            folders_.push_back((index.parent_path() / folder).string());
        const std::optional<SavedPlace> place = saved_place(root);
        if (!place) continue;
        const JsonLine::Value same = root.member("same_as");
        by_place_[key_of(*place)] = {folders_.size() - 1,
                                     std::string((same ? same : root.member("path")).text()), line};
    }
    return {};
}

std::optional<TensorFiles::Saved> TensorFiles::saved_at(const SavedPlace& place) {
    if (!is_read_) static_cast<void>(read_index());
    const auto found = by_place_.find(key_of(place));
    if (found == by_place_.end()) return std::nullopt;
    const File& file = found->second;
    return Saved{file.line, (fs::path(folders_[file.folder]) / file.path).string()};
}

const TensorFiles::File* TensorFiles::file_of(const compare::RecordedTensor& tensor) {
    if (!is_read_) static_cast<void>(read_index());
    const auto found =
        by_place_.find(key_of({tensor.side, tensor.run, tensor.call, tensor.position, tensor.facts->label}));
    return found == by_place_.end() ? nullptr : &found->second;
}

bool TensorFiles::has(const compare::RecordedTensor& tensor) {
    return file_of(tensor) != nullptr;
}

std::string TensorFiles::path_of(const compare::RecordedTensor& tensor) {
    const File* const file = file_of(tensor);
    return file == nullptr ? "" : (fs::path(folders_[file->folder]) / file->path).string();
}

std::optional<compare::SavedElements> TensorFiles::elements_of(const compare::RecordedTensor& tensor) {
    const std::string path = path_of(tensor);
    if (path.empty() || tensor.tensor == nullptr) return std::nullopt;
    Result<FileContents> content = files_->open(path);
    if (!content.ok()) return std::nullopt;
    const Result<PtView> read = read_pt(
        content.value().bytes, content.value().is_checked ? PtCheck::all_but_checksums : PtCheck::everything);
    if (!read.ok()) return std::nullopt;
    const PtView& view = read.value();
    const std::uint64_t count = element_count(view.sizes);
    // An expanded tensor has a small file.
    if (view.dtype != tensor.tensor->measured_dtype || view.bits.conjugate || view.bits.negative ||
        count != element_count(tensor.tensor->sizes) || count > kMostBytes / element_size(view.dtype))
        return std::nullopt;
    const PtView shaped = in_shape(view, *tensor.tensor);
    if (collapse(shaped.sizes, shaped.strides).is_contiguous())
        return compare::SavedElements{contiguous(shaped, count), std::move(content.value().owner)};
    auto elements = std::make_shared<const std::vector<std::byte>>(elements_in_order(shaped));
    return compare::SavedElements{*elements, elements};
}

}  // namespace aoti_dbg::cli

#include "cli/diff/saved_elements.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>

#include "base/file_bytes.hpp"
#include "cli/recorded_file.hpp"
#include "serializer/event_fields.hpp"
#include "serializer/event_words.hpp"
#include "serializer/line_source.hpp"
#include "serializer/pt_reader.hpp"
#include "stats_kernels/logical_walk.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostTensors = 10;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30U;  // of a file, or of its elements

/// Run, call, side and label.
using Key = std::tuple<std::uint32_t, std::uint32_t, EventSide, std::string>;

/// A pair of tensors that the comparison lists.
struct Listed {
    Key first;
    Key second;
    compare::Beginning* found = nullptr;
};

std::vector<Listed> listed_in(compare::Comparison& comparison) {
    std::vector<Listed> listed;
    for (compare::Beginning& one : comparison.beginnings) {
        if (!one.has_tensor || one.grade == compare::Grade::shape || one.first.tensor == nullptr) continue;
        if (listed.size() == kMostTensors) break;
        listed.push_back({{one.run, one.call, one.side, one.first.facts->label},
                          {one.other_run, one.other_call, one.side, one.second.facts->label},
                          &one});
    }
    return listed;
}

/// Tensors of events-4242.jsonl are in tensors-4242.
fs::path index_beside(const fs::path& events) {
    std::string folder = events.stem().string();
    if (folder.rfind("events", 0) == 0) folder.replace(0, 6, "tensors");
    return events.parent_path() / folder / "index.jsonl";
}

/// The paths of the files with these keys.
std::map<Key, fs::path> files_of(const fs::path& index, const std::map<Key, bool>& keys) {
    std::map<Key, fs::path> found;
    RecordedFile file(index.c_str());
    LineSource lines([&file](char* to, std::size_t bytes) { return file.read(to, bytes); });
    JsonLine json;
    fs::path folder = index.parent_path();
    for (std::string_view line; lines.next(line);) {
        if (!json.parse(line)) continue;
        const JsonLine::Value root = json.root();
        if (const std::string_view other = root.member("folder").text(); !other.empty())
            folder = index.parent_path() / other;
        const std::optional<EventSide> side = side_of(root.member("side").text());
        if (root.member("event").text() != "file" || !side) continue;
        std::uint32_t run = ~0U;
        std::uint32_t call = kNoCallNumber;
        read_integer(root.member("run"), run);
        read_integer(root.member("call"), call);
        Key key{run, call, *side, std::string(root.member("label").text())};
        if (!keys.contains(key)) continue;
        const JsonLine::Value same = root.member("same_as");
        found[std::move(key)] = folder / (same ? same : root.member("path")).text();
    }
    return found;
}

/// Returns the elements in logical order.
std::optional<std::vector<std::byte>> elements_of(const fs::path& path, const TensorFacts& facts) {
    const Result<std::string> file = read_regular_file(path.string(), "a tensor", kMostBytes);
    if (!file.ok()) return std::nullopt;
    const Result<PtView> read = read_pt(std::as_bytes(std::span(file.value())));
    if (!read.ok()) return std::nullopt;
    const PtView& view = read.value();
    if (view.dtype != facts.measured_dtype || view.sizes != facts.sizes || view.bits.conjugate ||
        view.bits.negative)
        return std::nullopt;
    const std::uint64_t count = element_count(view.sizes);
    const std::size_t size = element_size(view.dtype);
    if (count > kMostBytes / size) return std::nullopt;  // an expanded tensor has a small file
    std::vector<std::byte> elements(count * size);
    if (count == 0) return elements;
    const std::byte* const data = view.storage.data() + static_cast<std::size_t>(view.storage_offset) * size;
    const Layout layout = collapse(view.sizes, view.strides);
    LogicalWalk walk(data, static_cast<std::uint32_t>(size), layout, 0);
    constexpr std::uint64_t kBlock = 1U << 16U;
    for (std::uint64_t at = 0; at < count; at += kBlock)
        walk.gather(static_cast<std::uint32_t>(std::min(kBlock, count - at)),
                    reinterpret_cast<unsigned char*>(elements.data() + at * size));
    return elements;
}

std::map<Key, fs::path> files_of(const std::string& events, const std::vector<Listed>& listed,
                                 Key Listed::*key) {
    std::map<Key, bool> keys;
    for (const Listed& one : listed)
        keys[one.*key] = true;
    return files_of(index_beside(events), keys);
}

}  // namespace

void add_saved_elements(const std::string& first, const std::string& second, compare::Comparison& to) {
    const std::vector<Listed> listed = listed_in(to);
    if (listed.empty()) return;
    const std::map<Key, fs::path> ours = files_of(first, listed, &Listed::first);
    const std::map<Key, fs::path> theirs = files_of(second, listed, &Listed::second);
    for (const Listed& one : listed) {
        const auto our_file = ours.find(one.first);
        const auto their_file = theirs.find(one.second);
        if (our_file == ours.end() || their_file == theirs.end()) continue;
        const std::optional<std::vector<std::byte>> elements =
            elements_of(our_file->second, *one.found->first.tensor);
        const std::optional<std::vector<std::byte>> others =
            elements_of(their_file->second, *one.found->second.tensor);
        if (!elements || !others || elements->size() != others->size()) continue;
        one.found->elements =
            compare::difference_of(one.found->first.tensor->measured_dtype, *elements, *others);
    }
}

}  // namespace aoti_dbg::cli

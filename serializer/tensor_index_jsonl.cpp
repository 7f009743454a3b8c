#include "serializer/tensor_index_jsonl.hpp"

#include <charconv>

#include "serializer/event_words.hpp"
#include "serializer/jsonl_members.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg {

void append_index_header(const HeaderFacts& header, std::string_view folder, std::string& out) {
    append_header(kTensorIndexName, kTensorIndexVersion, header, out);
    if (!folder.empty()) append_member(R"(,"folder":)", folder, out);
    out += "}\n";
}

void append_index_file(const IndexedTensor& tensor, std::string& out) {
    append_member(R"({"event":"file","path":)", tensor.path, out);
    append_member(R"(,"side":)", word_of(tensor.side), out);
    if (tensor.run != ~0U) append_member(R"(,"run":)", tensor.run, out);
    if (tensor.call != kNoCallNumber) append_member(R"(,"call":)", tensor.call, out);
    if (tensor.model != ~0U) append_member(R"(,"model":)", tensor.model, out);
    append_member(R"(,"seq":)", tensor.sequence, out);
    if (!tensor.kernel.empty()) append_member(R"(,"kernel":)", tensor.kernel, out);
    append_member(R"(,"label":)", tensor.label, out);
    append_member(R"(,"position":)", tensor.position, out);
    append_member(R"(,"dtype":)", dtype_name(tensor.dtype), out);
    append_list(R"(,"sizes":)", tensor.sizes, out);
    append_list(R"(,"strides":)", tensor.strides, out);
    out += R"(,"storage_offset":)";
    append_integer(tensor.storage_offset, out);
    const std::int64_t storage = tensor.storage_bytes;
    if (storage >= 0) append_member(R"(,"storage_bytes":)", static_cast<std::uint64_t>(storage), out);
    if (storage < 0 || static_cast<std::uint64_t>(storage) != tensor.saved_storage_bytes)
        append_member(R"(,"saved_storage_bytes":)", tensor.saved_storage_bytes, out);
    append_math_bits(tensor.bits, out);
    append_member(R"(,"device":)", tensor.device, out);
    append_member(R"(,"bytes":)", tensor.bytes, out);
    if (tensor.has_hash) {
        out += R"(,"hash":")";
        append_hex(tensor.hash_high, out);
        append_hex(tensor.hash_low, out);
        out += '"';
    }
    if (!tensor.linked_to.empty()) append_member(R"(,"linked_to":)", tensor.linked_to, out);
    if (!tensor.same_as.empty()) append_member(R"(,"same_as":)", tensor.same_as, out);
    if (!tensor.whole_name.empty()) append_member(R"(,"whole_name":)", tensor.whole_name, out);
    if (tensor.statistics != nullptr) {
        out += R"(,"statistics":)";
        append_statistics_object(*tensor.statistics, out);
    }
    out += "}\n";
}

void append_index_evicted(std::uint32_t run, std::string_view why, std::uint64_t files, std::string& out) {
    append_member(R"({"event":"evicted","run":)", run, out);
    append_member(R"(,"why":)", why, out);
    append_member(R"(,"files":)", files, out);
    out += "}\n";
}

void append_index_compacted(std::uint64_t runs, std::uint64_t files, std::string& out) {
    append_member(R"({"event":"compacted","runs":)", runs, out);
    append_member(R"(,"files":)", files, out);
    out += "}\n";
}

void append_index_end(const IndexEnd& end, std::string& out) {
    append_member(R"({"event":"end","how":)", end.how, out);
    if (!end.reason.empty()) append_member(R"(,"reason":)", end.reason, out);
    append_counts(R"(,"counts":)", end.counts, out);
    append_counts(R"(,"removed":)", end.removed, out);
    append_counts(R"(,"left_out":)", end.left_out, out);
    out += "}\n";
}

namespace {

constexpr std::string_view kLinkedTo = R"(,"linked_to":")";

// Quotes within a string are escaped, so a match is never inside a string.
std::string_view raw_string_behind(std::string_view line, std::string_view name) {
    const std::size_t at = line.find(name);
    if (at == std::string_view::npos) return {};
    const std::size_t begin = at + name.size();
    std::size_t end = begin;
    while (end < line.size() && line[end] != '"')
        end += line[end] == '\\' ? 2 : 1;
    return end < line.size() ? line.substr(begin, end - begin) : std::string_view();
}

}  // namespace

IndexLine index_line_of(std::string_view line) {
    const auto begins = [line](std::string_view with) { return line.substr(0, with.size()) == with; };
    if (begins(R"({"event":"evicted",)")) return {IndexLine::Kind::evicted, ~0U, {}, {}};
    if (begins(R"({"event":"compacted",)")) return {IndexLine::Kind::compacted, ~0U, {}, {}};
    if (!begins(R"({"event":"file",)")) return {};
    IndexLine found{IndexLine::Kind::file, ~0U, raw_string_behind(line, R"(,"path":")"),
                    raw_string_behind(line, kLinkedTo)};
    constexpr std::string_view kRun = R"(,"run":)";
    const std::size_t at = line.find(kRun);
    if (at == std::string_view::npos) return found;
    const char* const digits = line.data() + at + kRun.size();
    if (std::from_chars(digits, line.data() + line.size(), found.run).ec != std::errc()) found.run = ~0U;
    return found;
}

void append_relinked(std::string_view line, const IndexLine& is, std::string_view linked_to,
                     std::string& out) {
    const auto begin = static_cast<std::size_t>(is.linked_to.data() - line.data());
    const std::size_t end = begin + is.linked_to.size() + 1;
    out += line.substr(0, begin - kLinkedTo.size());
    if (!linked_to.empty()) out.append(kLinkedTo).append(linked_to).append("\"");
    out += line.substr(end);
}

}  // namespace aoti_dbg

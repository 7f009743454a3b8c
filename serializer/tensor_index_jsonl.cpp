#include "serializer/tensor_index_jsonl.hpp"

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
    append_member(R"(,"storage_bytes":)", tensor.storage_bytes, out);
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

void append_index_end(std::string_view how, std::string_view reason, std::span<const NamedCount> counts,
                      std::span<const NamedCount> left_out, std::string& out) {
    append_member(R"({"event":"end","how":)", how, out);
    if (!reason.empty()) append_member(R"(,"reason":)", reason, out);
    append_counts(R"(,"counts":)", counts, out);
    append_counts(R"(,"left_out":)", left_out, out);
    out += "}\n";
}

}  // namespace aoti_dbg

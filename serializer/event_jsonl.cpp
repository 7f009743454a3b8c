#include "serializer/event_jsonl.hpp"

#include "base/clean_text.hpp"
#include "serializer/element_value.hpp"
#include "serializer/event_text.hpp"
#include "serializer/event_words.hpp"
#include "serializer/jsonl_members.hpp"
#include "serializer/number_text.hpp"
#include "serializer/text_pen.hpp"

namespace aoti_dbg {
namespace {

void append_texts(std::string_view name, const std::vector<std::string>& texts, std::string& out) {
    out.append(name).append("[");
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (i != 0) out += ',';
        append_json_string(texts[i], out);
    }
    out += ']';
}

/// Appends a minimum or maximum. A type narrower than float64 gets only the digits it needs.
void append_number(DType dtype, const Number& number, std::string& out) {
    switch (number.kind) {
        case Number::Kind::signed_integer:
            return append_integer(number.signed_integer, out);
        case Number::Kind::unsigned_integer:
            return append_integer(number.unsigned_integer, out);
        case Number::Kind::floating:
            break;
    }
    if (part_dtype(dtype) == DType::float64) {
        append_json_number(number.floating, out);
    } else {
        append_json_number(static_cast<float>(number.floating), out);
    }
}

void append_moments(DType dtype, const Moments& moments, std::string& out) {
    out += R"(,"mean":)";
    append_json_number(moments.mean, out);
    out += R"(,"min":)";
    append_number(dtype, moments.minimum, out);
    out += R"(,"max":)";
    append_number(dtype, moments.maximum, out);
    out += R"(,"std":)";
    append_json_number(moments.standard_deviation, out);
}

void append_index(std::string_view name, std::uint64_t index, std::string& out) {
    out += name;
    if (index == kNoIndex) {
        out += "null";
    } else {
        append_integer(index, out);
    }
}

/// `first` precedes the first member.
void append_part(char first, const TensorStatistics& statistics, const RealStatistics& part,
                 std::string& out) {
    const bool is_printed = wants(statistics.requested, Requested::printed | Requested::indices);
    const std::size_t start = out.size();
    if (is_printed) append_moments(statistics.dtype, part.all, out);
    if (is_printed && is_integer(statistics.dtype)) {
        out += R"(,"sum":)";
        append_integer(part.sum_high, part.sum_low, out);
    }
    if (part.zeros != 0) append_member(R"(,"zeros":)", part.zeros, out);
    if (wants(statistics.requested, Requested::indices)) {
        append_index(R"(,"min_at":)", part.minimum_index, out);
        append_index(R"(,"max_at":)", part.maximum_index, out);
    }
    if (part.nan != 0 || part.positive_infinity != 0 || part.negative_infinity != 0) {
        if (part.nan != 0) append_member(R"(,"nan":)", part.nan, out);
        if (part.positive_infinity != 0) append_member(R"(,"pos_inf":)", part.positive_infinity, out);
        if (part.negative_infinity != 0) append_member(R"(,"neg_inf":)", part.negative_infinity, out);
        if (part.first_nan != kNoIndex) append_member(R"(,"first_nan":)", part.first_nan, out);
        if (part.first_nonfinite != kNoIndex) {
            append_member(R"(,"first_nonfinite":)", part.first_nonfinite, out);
        }
        if (is_printed) {
            append_member(R"(,"finite":{"count":)", part.finite.count, out);
            append_moments(statistics.dtype, part.finite, out);
            out += '}';
        }
    }
    if (out.size() != start) {
        out[start] = first;
    } else if (first == '{') {
        out += first;
    }
}

void append_parts(const TensorStatistics& statistics, std::string& out) {
    if (is_complex(statistics.dtype)) {
        out += R"(,"real":)";
        append_part('{', statistics, statistics.real, out);
        out += R"(},"imaginary":)";
        append_part('{', statistics, statistics.imaginary, out);
        out += '}';
    } else {
        append_part(',', statistics, statistics.real, out);
    }
    if (wants(statistics.requested, Requested::hash)) {
        out += R"(,"hash":")";
        append_hex(statistics.hash, out);
        out += '"';
    }
}

void append_compiled(const CompiledFunction& function, std::string& out) {
    const auto append = [&out](std::string_view name, const std::string& text) {
        if (!text.empty()) append_member(name, text, out);
    };
    append(R"(,"graph":)", function.graph);
    append(R"(,"direction":)", function.direction);
    append(R"(,"compile":)", function.compile_id);
    append(R"(,"function":)", function.function);
    append(R"(,"function_at":)", function.place);
    append(R"(,"recompiled":)", function.recompiled);
}

/// Appends one of the numbers of an element.
void append_value(DType dtype, const std::byte* element, std::uint32_t number, std::string& out) {
    if (is_packed(dtype)) {
        const std::byte bits = packed_number(*element, number);
        append_json_element(dtype, &bits, out);
    } else {
        const DType part = part_dtype(dtype);
        append_json_element(part, element + std::size_t{number} * element_size(part), out);
    }
}

void append_values(DType dtype, std::span<const std::byte> values, std::string& out) {
    const bool is_pair = numbers_in_element(dtype) == 2;
    out += R"(,"values":[)";
    for (std::size_t at = 0; at + element_size(dtype) <= values.size(); at += element_size(dtype)) {
        if (at != 0) out += ',';
        if (is_pair) out += '[';
        append_value(dtype, &values[at], 0, out);
        if (is_pair) {
            out += ',';
            append_value(dtype, &values[at], 1, out);
            out += ']';
        }
    }
    out += ']';
}

/// Appends the members before the arguments.
void append_call(const MeasuredCall& call, std::string& out) {
    constexpr auto kNone = ~std::uint32_t{0};
    char text[16 * (20 + kRoomOfInteger)];
    TextPen pen(text);
    if (call.run != kNone) pen.put_member(R"(,"run":)", call.run);
    if (call.call != kNoCallNumber) pen.put_member(R"(,"call":)", call.call);
    if (call.model != kNone) pen.put_member(R"(,"model":)", call.model);
    pen.put_member(R"(,"seq":)", call.sequence);
    pen.put_member(R"(,"time_ns":)", call.time_ns);
    pen.put_member(R"(,"thread":)", call.thread);
    pen.put(R"(,"stream":)");
    pen.put_address(call.stream);
    if (call.nesting != 0) pen.put_member(R"(,"nesting":)", call.nesting);
    if (call.result != 0) {
        pen.put(R"(,"result":)");
        pen.put(std::int64_t{call.result});
    }
    if (call.is_serialized) pen.put(R"(,"serialized":true)");
    out.append(text, static_cast<std::size_t>(pen.at() - text));
}

}  // namespace

void append_json_string(std::string_view text, std::string& out) {
    out += '"';
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = static_cast<unsigned char>(text[at]);
        const bool is_plain = byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
        const std::size_t length = is_plain ? 1 : byte < 0x80 ? 0 : character_length(text.substr(at));
        if (length != 0) {
            at += length;
            continue;
        }
        out.append(text, done, at - done);
        if (byte >= 0x80) {
            out += kReplacement;
        } else if (byte == '"' || byte == '\\') {
            out += '\\';
            out += text[at];
        } else if (byte == '\n') {
            out += "\\n";
        } else {
            out += "\\u00";
            out += "0123456789abcdef"[byte >> 4U];
            out += "0123456789abcdef"[byte & 15U];
        }
        done = ++at;
    }
    out.append(text, done);
    out += '"';
}

void append_statistics_object(const TensorStatistics& statistics, std::string& out) {
    append_member(R"({"count":)", statistics.count, out);
    append_parts(statistics, out);
    out += '}';
}

void JsonlRenderer::render_header(const HeaderFacts& header, std::string& out) {
    append_header(kEventFormatName, kEventFormatVersion, header, out);
    out += "}\n";
}

void JsonlRenderer::render_model(const ModelFacts& model, std::string& out) {
    append_member(R"({"event":"model","model":)", model.number, out);
    append_member(R"(,"name":)", model.name, out);
    append_member(R"(,"path":)", model.path, out);
    if (model.compiled) append_compiled(*model.compiled, out);
    out += "}\n";
}

void JsonlRenderer::render_coverage(std::span<const NamedCount> counts, std::string& out) {
    append_counts(R"({"event":"coverage","counts":)", counts, out);
    out += "}\n";
}

void JsonlRenderer::make_room(std::string& out) {
    const bool sites = sites_.make_room();
    const bool arguments = arguments_.make_room();
    const bool tensors = tensors_.make_room();
    if (!sites && !arguments && !tensors) return;
    sites_.clear();
    arguments_.clear();
    tensors_.clear();
    out += "{\"event\":\"forget\"}\n";
}

const std::string& JsonlRenderer::fragment_of(const SiteFacts& facts, std::string& out) {
    if (const std::string* known = sites_.find(facts.number)) return *known;
    append_member(R"({"event":"site","id":)", facts.number, out);
    append_member(R"(,"kernel":)", facts.kernel, out);
    append_member(R"(,"symbol":)", facts.symbol, out);
    append_member(R"(,"kind":)", facts.kind, out);
    if (facts.site != ~0U) append_member(R"(,"number":)", facts.site, out);
    append_member(R"(,"line":)", facts.line, out);
    if (!facts.source.empty()) append_member(R"(,"source":)", facts.source, out);
    append_texts(R"(,"source_nodes":)", facts.source_nodes, out);
    append_texts(R"(,"original_aten":)", facts.original_aten, out);
    if (!facts.python_stack.empty()) append_texts(R"(,"python_stack":)", facts.python_stack, out);
    out += "}\n";
    std::string& fragment = sites_.add(facts.number);
    append_member(R"(,"kernel":)", facts.kernel, fragment);
    append_member(R"(,"site":)", facts.number, fragment);
    return fragment;
}

JsonlRenderer::ArgumentText& JsonlRenderer::fragment_of(const ArgumentFacts& facts, std::string& out) {
    if (ArgumentText* known = arguments_.find(facts.number)) return *known;
    append_member(R"({"event":"argument","id":)", facts.number, out);
    append_member(R"(,"label":)", facts.label, out);
    append_member(R"(,"fqn":)", facts.original_fqn, out);
    append_member(R"(,"parameter":)", facts.parameter, out);
    append_member(R"(,"position":)", facts.position, out);
    append_member(R"(,"role":)", word_of(facts.role), out);
    out += "}\n";
    ArgumentText& text = arguments_.add(facts.number);
    append_member(R"({"label":)", facts.label, text.label);
    append_member(R"(,"argument":)", facts.number, text.label);
    return text;
}

const std::string& JsonlRenderer::fragment_of(const TensorFacts& facts, std::string& out) {
    if (const std::string* known = tensors_.find(facts.number)) return *known;
    append_member(R"({"event":"tensor","id":)", facts.number, out);
    append_member(R"(,"dtype":)", facts.dtype, out);
    append_member(R"(,"device":)", facts.device, out);
    append_member(R"(,"layout":)", facts.is_strided ? "strided" : "not strided", out);
    if (facts.sizes_known) {
        append_list(R"(,"sizes":)", facts.sizes, out);
        append_list(R"(,"strides":)", facts.strides, out);
    } else {
        out += R"(,"sizes":null)";
    }
    out += facts.is_contiguous ? R"(,"contiguous":true)" : R"(,"contiguous":false)";
    out += R"(,"storage_offset":)";
    append_integer(facts.storage_offset, out);
    if (facts.storage_bytes >= 0) {
        append_member(R"(,"storage_bytes":)", static_cast<std::uint64_t>(facts.storage_bytes), out);
    }
    append_math_bits(facts.bits, out);
    if (!facts.unmeasured.empty()) append_member(R"(,"unmeasured":)", facts.unmeasured, out);
    out += "}\n";
    std::string& fragment = tensors_.add(facts.number);
    append_member(R"(,"tensor":)", facts.number, fragment);
    append_member(R"(,"dtype":)", facts.dtype, fragment);
    if (facts.sizes_known) append_list(R"(,"sizes":)", facts.sizes, fragment);
    return fragment;
}

void JsonlRenderer::append_statistics(const MeasuredArgument& argument, std::string& out) {
    const TensorStatistics& statistics = argument.statistics;
    if (!argument.tensor->sizes_known || statistics.count != element_count(argument.tensor->sizes)) {
        append_member(R"(,"count":)", statistics.count, out);
    }
    if (StatisticsTexts::are_plain(statistics)) {
        out += texts_->members(statistics);
    } else {
        append_parts(statistics, out);
    }
}

void JsonlRenderer::append_measurement(const MeasuredArgument& argument, std::string& out) {
    switch (argument.measured) {
        case Measured::not_yet:
            out += R"(,"measured":"not yet")";
            return;
        case Measured::no:
            append_member(R"(,"measured":"no","why":)", reason_text(argument), out);
            return;
        case Measured::earlier:
            if (argument.measured_at == kNoCallNumber) {
                out += R"(,"measured_at":"inputs")";
            } else {
                append_member(R"(,"measured_at":)", argument.measured_at, out);
            }
            break;
        case Measured::now:
            break;
    }
    append_statistics(argument, out);
    if (!argument.values.empty()) append_values(argument.tensor->measured_dtype, argument.values, out);
}

void JsonlRenderer::append_argument(const MeasuredArgument& argument, const Fragments& fragments,
                                    std::string& out) {
    ArgumentText& text = *fragments.argument;
    if (fragments.tensor == nullptr) {
        append_member(R"(,"value":)", argument.scalar, out.append(text.label));
        return;
    }
    if (text.tensor != fragments.tensor || text.address != argument.address) {
        text.tensor = fragments.tensor;
        text.address = argument.address;
        text.start.assign(text.label).append(*fragments.tensor);
        if (argument.address != 0) {
            char address[kRoomOfInteger];
            TextPen pen(address);
            pen.put_address(argument.address);
            text.start.append(R"(,"address":)").append(address, pen.at());
        }
    }
    out += text.start;
    append_measurement(argument, out);
}

void JsonlRenderer::render(const MeasuredCall& call, std::string& out) {
    make_room(out);
    const std::string* site = call.site == nullptr ? nullptr : &fragment_of(*call.site, out);
    fragments_.clear();
    for (const MeasuredArgument& argument : call.arguments) {
        Fragments& own = fragments_.emplace_back();
        own.argument = &fragment_of(facts_or_unknown(argument), out);
        if (argument.tensor != nullptr) own.tensor = &fragment_of(*argument.tensor, out);
    }
    append_member(R"({"event":"call","side":)", word_of(call.side), out);
    if (site != nullptr) out += *site;
    append_call(call, out);
    if (call.name_only) {
        out += "}\n";
        return;
    }
    out += R"(,"arguments":[)";
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
        if (i != 0) out += ',';
        append_argument(call.arguments[i], fragments_[i], out);
        if (is_unwritten(call, call.arguments[i])) out += R"(,"unwritten":true)";
        out += '}';
    }
    out += "]}\n";
}

}  // namespace aoti_dbg

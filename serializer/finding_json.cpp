// A finding as one line of events.jsonl, version 1:
//   {"event":"finding","version":1,"kind":"nan","number":1,"kernel":..., ...}
// Unknown or empty members are omitted. Numbers that JSON cannot express are strings: "NaN", "Infinity",
// "-Infinity". A stream is a hexadecimal string, as in all events. The reader skips unknown members and
// checks every type.
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "serializer/codes.hpp"
#include "serializer/event_words.hpp"
#include "serializer/finding.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint32_t kVersion = 1;
constexpr std::array<std::string_view, 5> kKinds = {"nan", "inf", "input_nan", "weight_nan", "argument"};

// ---- writing

Json json_of(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return value;
}

Json json_of(const Number& number) {
    switch (number.kind) {
        case Number::Kind::signed_integer:
            return number.signed_integer;
        case Number::Kind::unsigned_integer:
            return number.unsigned_integer;
        case Number::Kind::floating:
            break;
    }
    return json_of(number.floating);
}

template <typename T>
void add_list(Json& to, const char* name, const std::vector<T>& list) {
    if (!list.empty()) to[name] = list;
}

void add_text(Json& to, const char* name, const std::string& text) {
    if (!text.empty()) to[name] = text;
}

void add_unless(Json& to, const char* name, std::uint64_t number, std::uint64_t unknown) {
    if (number != unknown) to[name] = number;
}

void add_moments(Json& to, const Moments& moments) {
    to["min"] = json_of(moments.minimum);
    to["max"] = json_of(moments.maximum);
    to["mean"] = json_of(moments.mean);
    to["std"] = json_of(moments.standard_deviation);
}

Json json_of(const RealStatistics& part, Requested requested) {
    Json to;
    to["nan"] = part.nan;
    to["positive_infinity"] = part.positive_infinity;
    to["negative_infinity"] = part.negative_infinity;
    add_unless(to, "first_nan", part.first_nan, kNoIndex);
    add_unless(to, "first_nonfinite", part.first_nonfinite, kNoIndex);
    if (!wants(requested, Requested::printed | Requested::indices)) return to;
    to["zeros"] = part.zeros;
    add_moments(to, part.all);
    to["finite"]["count"] = part.finite.count;
    add_moments(to["finite"], part.finite);
    return to;
}

Json json_of(const FindingTensor& tensor) {
    Json to;
    to["label"] = tensor.label;
    add_text(to, "fqn", tensor.original_fqn);
    add_text(to, "parameter", tensor.parameter);
    to["role"] = word_of(tensor.role);
    if (!tensor.scalar.empty()) {
        to["scalar"] = tensor.scalar;
        return to;
    }
    add_text(to, "dtype", tensor.dtype);
    add_text(to, "device", tensor.device);
    if (tensor.sizes_known) to["sizes"] = tensor.sizes;
    if (!tensor.unmeasured.empty()) {
        to["unmeasured"] = tensor.unmeasured;
        return to;
    }
    if (tensor.is_earlier) {
        to["earlier"] = true;
        add_unless(to, "measured_at", tensor.measured_at, kNoCallNumber);
    }
    const TensorStatistics& statistics = tensor.statistics;
    to["count"] = statistics.count;
    to["statistics"] = json_of(statistics.real, statistics.requested);
    if (is_complex(statistics.dtype)) to["imaginary"] = json_of(statistics.imaginary, statistics.requested);
    return to;
}

void add_list(Json& to, const char* name, const std::vector<FindingTensor>& tensors) {
    for (const FindingTensor& tensor : tensors)
        to[name].push_back(json_of(tensor));
}

// ---- reading: takes members of the right type and leaves all others unchanged

const Json* member(const Json& from, const char* name) {
    if (!from.is_object()) return nullptr;
    const auto found = from.find(name);
    return found == from.end() ? nullptr : &*found;
}

void read(const Json& from, const char* name, std::string& to) {
    const Json* const value = member(from, name);
    if (value != nullptr && value->is_string()) to = value->get_ref<const std::string&>();
}

template <typename Integer>
void read(const Json& from, const char* name, Integer& to) {
    const Json* const value = member(from, name);
    if (value == nullptr || !value->is_number_unsigned()) return;
    const auto number = value->get<std::uint64_t>();
    if (number <= std::numeric_limits<Integer>::max()) to = static_cast<Integer>(number);
}

/// Also accepts a number, which early versions wrote.
void read_address(const Json& from, const char* name, std::uint64_t& to) {
    std::string text;
    read(from, name, text);
    if (text.rfind("0x", 0) != 0) return read(from, name, to);
    std::uint64_t address = 0;
    const char* const end = text.data() + text.size();
    const std::from_chars_result result = std::from_chars(text.data() + 2, end, address, 16);
    if (result.ec == std::errc() && result.ptr == end) to = address;
}

double double_of(const Json& value) {
    if (value.is_number()) return value.get<double>();
    if (value == "Infinity") return std::numeric_limits<double>::infinity();
    if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
}

void read(const Json& from, const char* name, double& to) {
    if (const Json* const value = member(from, name); value != nullptr) to = double_of(*value);
}

void read(const Json& from, const char* name, Number& to) {
    const Json* const value = member(from, name);
    if (value == nullptr) return;
    to = Number{};
    if (value->is_number_unsigned()) {
        to.kind = Number::Kind::unsigned_integer;
        to.unsigned_integer = value->get<std::uint64_t>();
    } else if (value->is_number_integer()) {
        to.kind = Number::Kind::signed_integer;
        to.signed_integer = value->get<std::int64_t>();
    } else {
        to.floating = double_of(*value);
    }
}

void read(const Json& from, const char* name, std::vector<std::string>& to) {
    const Json* const list = member(from, name);
    if (list == nullptr || !list->is_array()) return;
    for (const Json& value : *list)
        if (value.is_string()) to.push_back(value.get<std::string>());
}

template <typename Integer>
void read_integers(const Json& from, const char* name, std::vector<Integer>& to) {
    const Json* const list = member(from, name);
    if (list == nullptr || !list->is_array()) return;
    for (const Json& value : *list)
        if (value.is_number_integer()) to.push_back(value.get<Integer>());
}

void read_moments(const Json& from, Moments& to) {
    read(from, "min", to.minimum);
    read(from, "max", to.maximum);
    read(from, "mean", to.mean);
    read(from, "std", to.standard_deviation);
}

/// Returns what was requested for the measurement.
Requested read_part(const Json& from, std::uint64_t numbers, RealStatistics& to) {
    read(from, "nan", to.nan);
    read(from, "positive_infinity", to.positive_infinity);
    read(from, "negative_infinity", to.negative_infinity);
    read(from, "first_nan", to.first_nan);
    read(from, "first_nonfinite", to.first_nonfinite);
    const Json* const finite = member(from, "finite");
    if (finite == nullptr) return Requested::findings;
    read(from, "zeros", to.zeros);
    to.all.count = numbers;
    read_moments(from, to.all);
    read(*finite, "count", to.finite.count);
    read_moments(*finite, to.finite);
    return Requested::printed;
}

DType dtype_of(std::string_view name) {
    for (std::uint32_t i = 0; i < kDTypes; ++i)
        if (name == dtype_name(static_cast<DType>(i))) return static_cast<DType>(i);
    return DType::float32;
}

template <std::size_t kWords>
std::optional<std::size_t> word_of(const Json& from, const char* name,
                                   const std::array<std::string_view, kWords>& words) {
    std::string word;
    read(from, name, word);
    for (std::size_t i = 0; i < kWords; ++i)
        if (words[i] == word) return i;
    return std::nullopt;
}

FindingTensor read_tensor(const Json& from) {
    FindingTensor to;
    read(from, "label", to.label);
    read(from, "fqn", to.original_fqn);
    read(from, "parameter", to.parameter);
    to.role = static_cast<Role>(word_of(from, "role", kRoleWords).value_or(0));
    read(from, "scalar", to.scalar);
    read(from, "dtype", to.dtype);
    read(from, "device", to.device);
    to.sizes_known = member(from, "sizes") != nullptr;
    read_integers(from, "sizes", to.sizes);
    read(from, "unmeasured", to.unmeasured);
    to.is_earlier = member(from, "earlier") != nullptr;
    read(from, "measured_at", to.measured_at);
    TensorStatistics& statistics = to.statistics;
    statistics.dtype = dtype_of(to.dtype);
    read(from, "count", statistics.count);
    const std::uint64_t numbers = numbers_in_part(statistics.dtype, statistics.count);
    if (const Json* const part = member(from, "statistics"); part != nullptr)
        statistics.requested = read_part(*part, numbers, statistics.real);
    if (const Json* const part = member(from, "imaginary"); part != nullptr)
        (void)read_part(*part, numbers, statistics.imaginary);
    return to;
}

void read(const Json& from, const char* name, std::vector<FindingTensor>& to) {
    const Json* const list = member(from, name);
    if (list == nullptr || !list->is_array()) return;
    for (const Json& value : *list)
        to.push_back(read_tensor(value));
}

}  // namespace

void append_finding_json(const Finding& finding, std::string& out) {
    Json to;
    to["event"] = "finding";
    to["version"] = kVersion;
    to["kind"] = kKinds[static_cast<std::size_t>(finding.kind)];
    if (const std::uint32_t code = code_of(finding); code != 0) to["code"] = code_text(code);
    to["number"] = finding.number;
    to["kernel"] = finding.kernel;
    add_text(to, "symbol", finding.symbol);
    add_unless(to, "site", finding.site, ~0U);
    add_unless(to, "line", finding.line, 0);
    add_text(to, "source", finding.source);
    add_list(to, "source_nodes", finding.source_nodes);
    add_list(to, "original_aten", finding.original_aten);
    add_list(to, "python_stack", finding.python_stack);
    add_list(to, "python_lines", finding.python_lines);
    add_list(to, "pre_grad_nodes", finding.pre_grad_nodes);
    add_list(to, "post_grad_nodes", finding.post_grad_nodes);
    add_text(to, "origin", finding.origin);
    to["seq"] = finding.sequence;
    to["time_ns"] = finding.time_ns;
    to["thread"] = finding.thread;
    // A string, as in the lines of calls, because many readers cannot hold 64-bit numbers.
    to["stream"] = hex_text(finding.stream);
    add_unless(to, "model", finding.model, ~0U);
    add_text(to, "model_name", finding.model_name);
    add_unless(to, "run", finding.run, ~0U);
    add_unless(to, "call", finding.call, kNoCallNumber);
    to["tensor"] = json_of(finding.tensor);
    to["elements"] = finding.elements;
    add_list(to, "first", finding.first);
    add_text(to, "pattern", finding.pattern);
    add_list(to, "also", finding.also);
    add_list(to, "inputs", finding.inputs);
    add_list(to, "notes", finding.notes);
    add_text(to, "suppression", finding.suppression);
    add_text(to, "check", finding.check);
    add_text(to, "expected", finding.expected);
    add_text(to, "found", finding.found);
    add_text(to, "advice", finding.advice);
    // Names may contain bytes that are not UTF-8.
    out += to.dump(-1, ' ', false, Json::error_handler_t::replace);
    out += '\n';
}

Result<Finding> read_finding(std::string_view line) {
    const Json from = Json::parse(line, nullptr, false);
    if (!from.is_object()) return Status::error("not a JSON object");
    std::string event;
    read(from, "event", event);
    if (event != "finding") return Status::error("not a finding");
    std::uint32_t version = 0;
    read(from, "version", version);
    if (version != kVersion) return Status::error("a finding of an unknown version");
    const std::optional<std::size_t> kind = word_of(from, "kind", kKinds);
    if (!kind) return Status::error("a finding of an unknown kind");

    Finding finding;
    finding.kind = static_cast<Finding::Kind>(*kind);
    read(from, "number", finding.number);
    read(from, "kernel", finding.kernel);
    read(from, "symbol", finding.symbol);
    read(from, "site", finding.site);
    read(from, "line", finding.line);
    read(from, "source", finding.source);
    read(from, "source_nodes", finding.source_nodes);
    read(from, "original_aten", finding.original_aten);
    read(from, "python_stack", finding.python_stack);
    read(from, "python_lines", finding.python_lines);
    read(from, "pre_grad_nodes", finding.pre_grad_nodes);
    read(from, "post_grad_nodes", finding.post_grad_nodes);
    read(from, "origin", finding.origin);
    read(from, "seq", finding.sequence);
    read(from, "time_ns", finding.time_ns);
    read(from, "thread", finding.thread);
    read_address(from, "stream", finding.stream);
    read(from, "model", finding.model);
    read(from, "model_name", finding.model_name);
    read(from, "run", finding.run);
    read(from, "call", finding.call);
    if (const Json* const tensor = member(from, "tensor"); tensor != nullptr)
        finding.tensor = read_tensor(*tensor);
    read(from, "elements", finding.elements);
    read_integers(from, "first", finding.first);
    read(from, "pattern", finding.pattern);
    read(from, "also", finding.also);
    read(from, "inputs", finding.inputs);
    read(from, "notes", finding.notes);
    read(from, "suppression", finding.suppression);
    read(from, "check", finding.check);
    read(from, "expected", finding.expected);
    read(from, "found", finding.found);
    read(from, "advice", finding.advice);
    return finding;
}

}  // namespace aoti_dbg

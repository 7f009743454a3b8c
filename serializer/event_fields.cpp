#include "serializer/event_fields.hpp"

#include <cstring>

#include "serializer/element_value.hpp"
#include "serializer/event_words.hpp"

namespace aoti_dbg {
namespace {

using Value = JsonLine::Value;
using Kind = JsonLine::Kind;

std::vector<std::string> strings_of(Value list) {
    std::vector<std::string> strings;
    for (Value value = list.first(); value; value = value.next())
        strings.push_back(string_of(value));
    return strings;
}

std::vector<std::int64_t> integers_of(Value list) {
    std::vector<std::int64_t> integers;
    for (Value value = list.first(); value; value = value.next())
        read_integer(value, integers.emplace_back());
    return integers;
}

/// True for a number, or for a string, because non-finite values are words.
bool is_numeric(Value value) {
    return value.is(Kind::number) || value.is(Kind::string);
}

void read_double(Value value, double& to) {
    std::byte bytes[sizeof to];
    if (is_numeric(value) && read_json_element(DType::float64, value.text(), bytes))
        memcpy(&to, bytes, sizeof to);
}

/// Reads what append_number() in event_jsonl.cpp writes.
Number number_of(DType dtype, Value value) {
    Number number;
    if (is_unsigned(dtype)) {
        number.kind = Number::Kind::unsigned_integer;
        read_integer(value, number.unsigned_integer);
    } else if (is_integer(dtype)) {
        number.kind = Number::Kind::signed_integer;
        read_integer(value, number.signed_integer);
    } else if (part_dtype(dtype) == DType::float64) {
        read_double(value, number.floating);
    } else {
        std::byte bytes[sizeof(float)];
        float narrow = 0;
        if (is_numeric(value) && read_json_element(DType::float32, value.text(), bytes))
            memcpy(&narrow, bytes, sizeof narrow);
        number.floating = static_cast<double>(narrow);
    }
    return number;
}

/// Reads an integer of up to 128 bits.
void read_sum(Value value, RealStatistics& part) {
    __extension__ using Wide = unsigned __int128;
    std::string_view digits = value.text();
    if (!value.is(Kind::number) || digits.size() > 40) return;
    const bool is_negative = digits.front() == '-';
    if (is_negative) digits.remove_prefix(1);
    Wide sum = 0;
    for (const char digit : digits) {
        if (digit < '0' || digit > '9') return;
        sum = sum * 10 + static_cast<unsigned>(digit - '0');
    }
    if (is_negative) sum = -sum;
    part.sum_low = static_cast<std::uint64_t>(sum);
    part.sum_high = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum >> 64U));
}

constexpr std::uint32_t tag(std::string_view key) {
    return JsonLine::tag_of(key);
}

/// The members of an object with statistics, found in one pass because lines have many of them.
class Members {
  public:
    explicit Members(Value object) {
        for (Value value = object.first(); value; value = value.next())
            take(value);
    }

    Value mean, deviation, minimum, maximum, sum, zeros;
    Value nan, positive_infinity, negative_infinity;
    Value minimum_index, maximum_index, first_nan, first_nonfinite;
    Value finite, real, imaginary, count, hash;

  private:
    void take(Value value) {
        switch (value.tag()) {
            case tag("mean"):
                return set("mean", value, mean);
            case tag("std"):
                return set("std", value, deviation);
            case tag("min"):
                return set("min", value, minimum);
            case tag("max"):
                return set("max", value, maximum);
            case tag("sum"):
                return set("sum", value, sum);
            case tag("zeros"):
                return set("zeros", value, zeros);
            case tag("nan"):
                return set("nan", value, nan);
            case tag("pos_inf"):
                return set("pos_inf", value, positive_infinity);
            case tag("neg_inf"):
                return set("neg_inf", value, negative_infinity);
            case tag("min_at"):  // and max_at, whose tag is the same
                set("min_at", value, minimum_index);
                return set("max_at", value, maximum_index);
            default:
                take_rare(value);
        }
    }
    void take_rare(Value value) {
        switch (value.tag()) {
            case tag("first_nan"):
                return set("first_nan", value, first_nan);
            case tag("first_nonfinite"):
                return set("first_nonfinite", value, first_nonfinite);
            case tag("finite"):
                return set("finite", value, finite);
            case tag("real"):
                return set("real", value, real);
            case tag("imaginary"):
                return set("imaginary", value, imaginary);
            case tag("count"):
                return set("count", value, count);
            case tag("hash"):
                return set("hash", value, hash);
            default:
                return;
        }
    }
    /// The first of several members with one name counts.
    static void set(std::string_view key, Value value, Value& member) {
        if (!member && value.key() == key) member = value;
    }
};

void read_moments(const Members& members, DType dtype, Moments& moments) {
    read_double(members.mean, moments.mean);
    read_double(members.deviation, moments.standard_deviation);
    moments.minimum = number_of(dtype, members.minimum);
    moments.maximum = number_of(dtype, members.maximum);
}

void read_part(const Members& members, TensorStatistics& statistics, RealStatistics& part) {
    read_integer(members.nan, part.nan);
    read_integer(members.positive_infinity, part.positive_infinity);
    read_integer(members.negative_infinity, part.negative_infinity);
    read_integer(members.zeros, part.zeros);
    read_integer(members.first_nan, part.first_nan);
    read_integer(members.first_nonfinite, part.first_nonfinite);
    if (members.minimum_index) {
        statistics.requested = statistics.requested | Requested::indices;
        read_integer(members.minimum_index, part.minimum_index);
        read_integer(members.maximum_index, part.maximum_index);
    }
    if (!members.mean) return;
    statistics.requested = statistics.requested | Requested::printed;
    part.all.count = numbers_in_part(statistics.dtype, statistics.count);
    read_moments(members, statistics.dtype, part.all);
    read_sum(members.sum, part);
    part.finite = part.all;
    if (members.finite) {
        const Members finite(members.finite);
        part.finite.count = 0;
        read_integer(finite.count, part.finite.count);
        read_moments(finite, statistics.dtype, part.finite);
    }
}

/// True if their product does not overflow, so that the element count is reliable.
bool are_sizes(const std::vector<std::int64_t>& sizes) {
    std::uint64_t elements = 1;
    for (const std::int64_t size : sizes) {
        if (size < 0) return false;
        if (size > 0 && __builtin_mul_overflow(elements, static_cast<std::uint64_t>(size), &elements))
            return false;
    }
    return sizes.size() <= kMaxRank;
}

}  // namespace

void read_address(Value value, std::uint64_t& to) {
    const std::string_view text = value.text();
    if (!value.is(Kind::string) || text.substr(0, 2) != "0x") return;
    std::uint64_t number = 0;
    const std::from_chars_result result =
        std::from_chars(text.data() + 2, text.data() + text.size(), number, 16);
    if (result.ec == std::errc() && result.ptr == text.data() + text.size()) to = number;
}

std::string string_of(Value value) {
    return value.is(Kind::string) ? std::string(value.text()) : std::string();
}

void read_statistics(Value object, const TensorFacts& tensor, TensorStatistics& statistics) {
    statistics = {};
    statistics.dtype = tensor.measured_dtype;
    statistics.requested = Requested::findings;
    if (tensor.sizes_known) statistics.count = element_count(tensor.sizes);
    const Members members(object);
    read_integer(members.count, statistics.count);
    if (is_complex(statistics.dtype)) {
        read_part(Members(members.real), statistics, statistics.real);
        read_part(Members(members.imaginary), statistics, statistics.imaginary);
    } else {
        read_part(members, statistics, statistics.real);
    }
    const std::string_view hash = members.hash.text();
    if (hash.size() != 16) return;
    const std::from_chars_result result =
        std::from_chars(hash.data(), hash.data() + hash.size(), statistics.hash, 16);
    if (result.ptr == hash.data() + hash.size())
        statistics.requested = statistics.requested | Requested::hash;
}

/// Replaces two numbers by the packed element that has both.
void pack_last_two(std::vector<std::byte>& bytes) {
    const std::byte high = bytes.back();
    bytes.pop_back();
    bytes.back() = packed_element(bytes.back(), high);
}

void read_values(Value list, DType dtype, std::vector<std::byte>& to) {
    const DType part = part_dtype(dtype);
    std::byte bytes[sizeof(double)];
    to.clear();
    const auto take = [&](Value value) {
        if (!read_json_element(part, value.text(), bytes)) return false;
        to.insert(to.end(), bytes, bytes + element_size(part));
        return true;
    };
    for (Value value = list.first(); value; value = value.next()) {
        const bool is_pair = numbers_in_element(dtype) == 2;
        const bool taken = is_pair ? take(value.first()) && take(value.first().next()) : take(value);
        if (taken && is_packed(dtype)) pack_last_two(to);
        if (taken && to.size() <= kMostPrintedValues * element_size(dtype)) continue;
        to.clear();
        return;
    }
}

void read_tensor(Value object, TensorFacts& facts) {
    facts.dtype = string_of(object.member("dtype"));
    for (std::uint8_t i = 0; i < kDTypes; ++i) {
        if (facts.dtype == dtype_name(static_cast<DType>(i))) facts.measured_dtype = static_cast<DType>(i);
    }
    facts.device = string_of(object.member("device"));
    facts.is_strided = object.member("layout").text() != "not strided";
    facts.sizes_known = object.member("sizes").is(Kind::array);
    facts.sizes = integers_of(object.member("sizes"));
    facts.strides = integers_of(object.member("strides"));
    if (!are_sizes(facts.sizes)) {
        facts.sizes_known = false;
        facts.sizes.clear();
        facts.strides.clear();
    }
    facts.is_contiguous = object.member("contiguous").text() != "false";
    read_integer(object.member("storage_offset"), facts.storage_offset);
    read_integer(object.member("storage_bytes"), facts.storage_bytes);
    facts.bits = {object.member("conjugate").text() == "true", object.member("negative").text() == "true"};
    facts.unmeasured = string_of(object.member("unmeasured"));
}

void read_argument(Value object, ArgumentFacts& facts) {
    facts.label = string_of(object.member("label"));
    facts.original_fqn = string_of(object.member("fqn"));
    facts.parameter = string_of(object.member("parameter"));
    read_integer(object.member("position"), facts.position);
    facts.role = role_of(object.member("role").text());
}

void read_site(Value object, SiteFacts& facts) {
    facts.kernel = string_of(object.member("kernel"));
    facts.symbol = string_of(object.member("symbol"));
    facts.kind = string_of(object.member("kind"));
    read_integer(object.member("number"), facts.site);
    read_integer(object.member("line"), facts.line);
    facts.source = string_of(object.member("source"));
    facts.source_nodes = strings_of(object.member("source_nodes"));
    facts.original_aten = strings_of(object.member("original_aten"));
    facts.python_stack = strings_of(object.member("python_stack"));
}

}  // namespace aoti_dbg

// Building blocks of JSON lines, for events.jsonl and the index of saved tensors. `name` is the literal text
// before the value, `,"name":`, so nothing is concatenated at run time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "serializer/event_jsonl.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg {

inline void append_member(std::string_view name, std::string_view value, std::string& out) {
    out += name;
    append_json_string(value, out);
}

inline void append_member(std::string_view name, std::uint64_t value, std::string& out) {
    out += name;
    append_integer(value, out);
}

inline void append_list(std::string_view name, std::span<const std::int64_t> numbers, std::string& out) {
    out.append(name).append("[");
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (i != 0) out += ',';
        append_integer(numbers[i], out);
    }
    out += ']';
}

/// Appends nothing if no bit is set, which is the usual case.
inline void append_math_bits(MathBits bits, std::string& out) {
    if (bits.conjugate) out += R"(,"conjugate":true)";
    if (bits.negative) out += R"(,"negative":true)";
}

inline void append_counts(std::string_view name, std::span<const NamedCount> counts, std::string& out) {
    out.append(name).append("{");
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (i != 0) out += ',';
        append_json_string(counts[i].name, out);
        append_member(":", counts[i].number, out);
    }
    out += '}';
}

/// Appends the start of the first line; more members may follow.
inline void append_header(std::string_view format, std::uint32_t version, const HeaderFacts& header,
                          std::string& out) {
    append_member(R"({"event":"header","format":)", format, out);
    append_member(R"(,"version":)", version, out);
    append_member(R"(,"pid":)", header.pid, out);
    append_member(R"(,"command":)", header.command, out);
    append_member(R"(,"host":)", header.host, out);
    append_member(R"(,"rank":)", header.rank, out);
    append_member(R"(,"start_ns":)", header.start_ns, out);
    append_member(R"(,"library":)", header.library, out);
}

}  // namespace aoti_dbg

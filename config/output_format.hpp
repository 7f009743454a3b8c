// The output formats of level 2: AOTI_DBG_FORMAT, `aoti-dbg show --format`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace aoti_dbg {

enum class OutputFormat : std::uint8_t {
    text,     // like PyTorch's debug printer
    compact,  // one aligned line per tensor
    jsonl,    // see docs/reference/events.md
    none,     // calls are only in events.jsonl (AOTI_DBG_RECORD)
};

constexpr std::optional<OutputFormat> output_format_named(std::string_view word) {
    if (word == "text") return OutputFormat::text;
    if (word == "compact") return OutputFormat::compact;
    if (word == "jsonl") return OutputFormat::jsonl;
    return std::nullopt;
}

}  // namespace aoti_dbg

// Amounts of bytes as people write them: 20GB, 1.5 GiB, 4096. Knows no option.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace aoti_dbg {

/// Powers of 1000 for K, M, G, T, with or without B, and of 1024 for KiB and so on; in any case, a blank may
/// stand before the unit, a fraction behind the number. None where it is no such amount; what is beyond
/// 64 bits is the largest that they hold.
std::optional<std::uint64_t> parse_byte_size(std::string_view text);

/// "950 B", "20.0 GB".
std::string byte_size_text(std::uint64_t bytes);

}  // namespace aoti_dbg

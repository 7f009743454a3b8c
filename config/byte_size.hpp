// Byte sizes as people write them: 20GB, 1.5 GiB, 4096. Must not know any option.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace aoti_dbg {

/// Parses a byte size. K, M, G and T, with or without B, are powers of 1000. KiB and so on are powers of
/// 1024. Case does not matter, and a blank may precede the unit. Fractions are allowed. Returns nothing for
/// any other text, and UINT64_MAX for sizes beyond 64 bits.
std::optional<std::uint64_t> parse_byte_size(std::string_view text);

/// Returns "950 B" or "20.0 GB".
std::string byte_size_text(std::uint64_t bytes);

}  // namespace aoti_dbg

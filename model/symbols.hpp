// Evaluates the integer expressions in which a wrapper source writes sizes, and solves for their symbols.
// Accepts any text. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace aoti_dbg {

/// The known values of symbols.
using Symbols = std::map<std::string, std::int64_t, std::less<>>;

/// Supports numbers, symbols, + - * / and parentheses. Returns nothing for other text or on overflow.
/// `unknown` receives the first symbol without a value.
std::optional<std::int64_t> evaluate(std::string_view expression, const Symbols& symbols,
                                     std::string* unknown = nullptr);

/// Solves `expression` == `value` for its only unknown symbol, if it is linear in that symbol.
void solve(std::string_view expression, std::int64_t value, Symbols& symbols);

/// Does the same for a number that is a function of `unknown`. `least` is the smallest possible value of
/// `unknown`.
void solve(const std::function<std::optional<std::int64_t>(const Symbols&)>& number,
           const std::string& unknown, std::int64_t value, std::int64_t least, Symbols& symbols);

}  // namespace aoti_dbg

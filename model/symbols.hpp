// Integer expressions of a wrapper source, in whose symbols sizes are written, and what is known of these
// symbols. Takes any text. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace aoti_dbg {

/// The numbers that symbols stand for, of those that are known.
using Symbols = std::map<std::string, std::int64_t, std::less<>>;

/// Numbers, symbols, + - * / and parentheses; nothing where it is anything else, or does not fit. `unknown`
/// gets the first symbol without a value.
std::optional<std::int64_t> evaluate(std::string_view expression, const Symbols& symbols,
                                     std::string* unknown = nullptr);

/// A symbol of which `expression` is the only one, and that it depends on as a straight line.
void solve(std::string_view expression, std::int64_t value, Symbols& symbols);

/// The same of any number that `unknown` leads to; `least` is the smallest that it may be.
void solve(const std::function<std::optional<std::int64_t>(const Symbols&)>& number,
           const std::string& unknown, std::int64_t value, std::int64_t least, Symbols& symbols);

}  // namespace aoti_dbg

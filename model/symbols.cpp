#include "model/symbols.hpp"

#include <cctype>
#include <cstddef>

namespace aoti_dbg {
namespace {

/// Evaluates an integer expression of the source.
class Evaluator {
  public:
    Evaluator(std::string_view text, const Symbols& symbols) : rest_(text), symbols_(symbols) {}

    /// Returns nothing for other text or on overflow. `unknown` receives the first symbol without a value.
    std::optional<std::int64_t> value(std::string* unknown = nullptr) {
        unknown_ = unknown;
        const std::int64_t result = sum();
        skip_blanks();
        return failed_ || !rest_.empty() ? std::nullopt : std::optional(result);
    }

  private:
    std::int64_t fail() {
        failed_ = true;
        rest_ = {};
        return 0;
    }
    void skip_blanks() {
        while (!rest_.empty() && rest_.front() == ' ')
            rest_.remove_prefix(1);
    }
    char next() {
        skip_blanks();
        return rest_.empty() ? '\0' : rest_.front();
    }
    std::int64_t sum() {
        std::int64_t left = product();
        for (char sign = next(); sign == '+' || sign == '-'; sign = next()) {
            rest_.remove_prefix(1);
            const std::int64_t right = product();
            const bool overflows = sign == '+' ? __builtin_add_overflow(left, right, &left)
                                               : __builtin_sub_overflow(left, right, &left);
            if (overflows) return fail();
        }
        return left;
    }
    std::int64_t product() {
        std::int64_t left = factor();
        for (char sign = next(); sign == '*' || sign == '/'; sign = next()) {
            rest_.remove_prefix(1);
            const std::int64_t right = factor();
            if (sign == '*' && __builtin_mul_overflow(left, right, &left)) return fail();
            if (sign == '/') {
                if (right <= 0) return fail();
                left /= right;
            }
        }
        return left;
    }
    std::int64_t factor() {
        constexpr int kDeepest = 32;
        const char first = next();
        if (first == '(') {
            if (++depth_ > kDeepest) return fail();
            rest_.remove_prefix(1);
            const std::int64_t value = sum();
            if (next() != ')') return fail();
            rest_.remove_prefix(1);
            --depth_;
            return value;
        }
        std::size_t end = 0;
        while (end < rest_.size() &&
               (std::isalnum(static_cast<unsigned char>(rest_[end])) != 0 || rest_[end] == '_'))
            ++end;
        const std::string_view word = rest_.substr(0, end);
        rest_.remove_prefix(end);
        if (word.empty()) return fail();
        return std::isdigit(static_cast<unsigned char>(first)) != 0 ? number(word) : symbol(word);
    }
    std::int64_t number(std::string_view word) {
        while (!word.empty() && word.back() == 'L')
            word.remove_suffix(1);
        constexpr std::size_t kMostDigits = 18;
        if (word.empty() || word.size() > kMostDigits) return fail();
        std::int64_t value = 0;
        for (const char digit : word) {
            if (digit < '0' || digit > '9') return fail();
            value = value * 10 + (digit - '0');
        }
        return value;
    }
    std::int64_t symbol(std::string_view word) {
        const auto known = symbols_.find(word);
        if (known != symbols_.end()) return known->second;
        if (unknown_ != nullptr) *unknown_ = word;
        return fail();
    }

    std::string_view rest_;
    const Symbols& symbols_;
    std::string* unknown_ = nullptr;
    bool failed_ = false;
    int depth_ = 0;
};

}  // namespace

std::optional<std::int64_t> evaluate(std::string_view expression, const Symbols& symbols,
                                     std::string* unknown) {
    return Evaluator(expression, symbols).value(unknown);
}

void solve(const std::function<std::optional<std::int64_t>(const Symbols&)>& number,
           const std::string& unknown, std::int64_t value, std::int64_t least, Symbols& symbols) {
    Symbols trial = symbols;
    std::int64_t results[3];
    for (std::int64_t i = 0; i < 3; ++i) {
        trial[unknown] = least + i;
        const std::optional<std::int64_t> result = number(trial);
        if (!result) return;
        results[i] = *result;
    }
    std::int64_t slope = 0;
    std::int64_t next = 0;
    std::int64_t rise = 0;
    if (__builtin_sub_overflow(results[1], results[0], &slope) ||
        __builtin_sub_overflow(results[2], results[1], &next) ||
        __builtin_sub_overflow(value, results[0], &rise))
        return;
    // The lowest number cannot be negated.
    if (slope == 0 || next != slope || (slope == -1 && rise == INT64_MIN) || rise % slope != 0) return;
    std::int64_t found = 0;
    if (__builtin_add_overflow(rise / slope, least, &found)) return;
    trial[unknown] = found;
    // A nonlinear function may look linear this close to its start.
    if (found >= least && number(trial) == value) symbols[unknown] = found;
}

void solve(std::string_view expression, std::int64_t value, Symbols& symbols) {
    std::string unknown;
    if (evaluate(expression, symbols, &unknown) || unknown.empty()) return;
    // With a division, several values give the same result.
    if (expression.find('/') != std::string_view::npos) return;
    solve([expression](const Symbols& trial) { return evaluate(expression, trial); }, unknown, value, 0,
          symbols);
}

}  // namespace aoti_dbg

#include "shim/measure/number_text.hpp"

#include <locale.h>

#include <cstdio>
#include <cstdlib>

namespace aoti_dbg {
namespace {

/// The "C" locale in this thread, for a scope.
class PlainLocale {
  public:
    PlainLocale() : kept_(plain() == nullptr ? nullptr : uselocale(plain())) {}
    ~PlainLocale() {
        if (kept_ != nullptr) uselocale(kept_);
    }
    PlainLocale(const PlainLocale&) = delete;
    PlainLocale& operator=(const PlainLocale&) = delete;

  private:
    static locale_t plain() {
        static const locale_t made = newlocale(LC_ALL_MASK, "C", nullptr);
        return made;
    }
    locale_t kept_;
};

std::string formatted(const char* format, int digits, double value) {
    const PlainLocale locale;
    char text[400];  // %.4f of the largest double has 314 characters
    const int length = snprintf(text, sizeof text, format, digits, value);
    return {text, length < 0 ? 0 : static_cast<std::size_t>(length)};
}

bool is_same(const std::string& text, double value) {
    const PlainLocale locale;
    return strtod(text.c_str(), nullptr) == value;
}

}  // namespace

std::string number_text(double value) {
    return formatted("%.*g", 6, value);
}

std::string fixed_text(double value, int digits) {
    return formatted("%.*f", digits, value);
}

std::string scientific_text(double value, int digits) {
    return formatted("%.*e", digits, value);
}

std::string shortest_text(double value) {
    if (value - value != 0 || value == 0) return number_text(value);
    int digits = 0;
    while (digits < 16 && !is_same(scientific_text(value, digits), value))
        ++digits;
    std::string text = scientific_text(value, digits);
    const int exponent = std::stoi(text.substr(text.find('e') + 1));
    if (exponent < -4 || exponent >= 16) return text;
    return fixed_text(value, digits > exponent ? digits - exponent : 0);
}

}  // namespace aoti_dbg

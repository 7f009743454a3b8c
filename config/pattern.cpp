#include "config/pattern.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "config/words.hpp"

namespace aoti_dbg {
namespace {

std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
    return name.data();
}

std::string local_time(std::int64_t unix_seconds) {
    const std::time_t moment = unix_seconds;
    std::tm parts{};
    std::array<char, 32> text{};
    if (localtime_r(&moment, &parts) == nullptr ||
        std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &parts) == 0) {
        return "00000000-000000";
    }
    return text.data();
}

}  // namespace

Origin Origin::here_and_now() {
    return {getpid(), std::time(nullptr)};
}

const char* rank_of(const Environment& environment) {
    for (const char* variable : {"RANK", "LOCAL_RANK", "SLURM_PROCID"}) {
        const char* const value = environment(variable);
        if (value != nullptr && *value != '\0') return value;
    }
    return nullptr;
}

std::string as_pattern(std::string_view text) {
    std::string pattern;
    for (const char letter : text)
        pattern.append(letter == '%' ? 2 : 1, letter);
    return pattern;
}

std::string pattern_fault(std::string_view pattern) {
    constexpr const char* kLiteral = " (write %% for a percent sign)";
    for (std::size_t i = pattern.find('%'); i != std::string_view::npos; i = pattern.find('%', i)) {
        const std::string_view rest = pattern.substr(i);
        if (rest.size() == 1) return std::string("it ends in a single %") + kLiteral;
        if (rest.substr(0, 3) == "%q{") {
            const std::size_t close = rest.find('}');
            if (close == std::string_view::npos) return "%q{ has no closing brace";
            if (close == 3) return "%q{} names no variable";
            i += close + 1;
        } else if (std::string_view("phrt%").find(rest[1]) != std::string_view::npos) {
            i += 2;
        } else {
            std::size_t length = 2;
            // Take all bytes of a non-ASCII character.
            while (length < rest.size() && (static_cast<unsigned char>(rest[length]) & 0xc0U) == 0x80U)
                ++length;
            return "unknown pattern " + quoted(rest.substr(0, length)) + kLiteral;
        }
    }
    return {};
}

std::string anchored_pattern(const std::string& pattern, const std::string& folder,
                             const Environment& environment) {
    if (folder.empty() || expand_pattern(pattern, environment).substr(0, 1) == "/") return pattern;
    return as_pattern(folder == "/" ? "" : folder) + "/" + pattern;
}

std::string expand_pattern(std::string_view pattern, const Environment& environment, const Origin& origin) {
    std::string result;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char letter = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
        std::size_t used = 1;  // characters after the percent sign
        if (letter == 'p') {
            result += std::to_string(origin.pid);
        } else if (letter == 'h') {
            result += host_name();
        } else if (letter == 'r') {
            // The rank is part of a name and must not change the path.
            std::string rank = rank_of(environment) == nullptr ? "0" : rank_of(environment);
            std::replace(rank.begin(), rank.end(), '/', '_');
            result += rank;
        } else if (letter == 't') {
            result += local_time(origin.unix_seconds);
        } else if (letter == '%') {
            result += '%';
        } else if (const std::size_t close = pattern.find('}', i);
                   pattern.substr(i, 3) == "%q{" && close != std::string_view::npos) {
            const char* const value = environment(std::string(pattern.substr(i + 3, close - i - 3)).c_str());
            if (value != nullptr) result += value;
            used = close - i;
        } else {
            result += pattern[i];
            used = 0;
        }
        i += used;
    }
    return result;
}

}  // namespace aoti_dbg

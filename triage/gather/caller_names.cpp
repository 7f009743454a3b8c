#include "triage/gather/caller_names.hpp"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/mapped_file.hpp"
#include "base/readable_symbol.hpp"
#include "binary/elf_reader.hpp"

namespace aoti_dbg {
namespace {

constexpr std::string_view kOwnLibrary = "/libaoti_dbg.so";
constexpr std::size_t kLongestName = 120;

struct CodePlace {
    std::string path;
    std::uint64_t offset = 0;  // in the file
};

std::optional<CodePlace> place_in(const std::string& caller) {
    constexpr std::string_view kBetween = "+0x";
    const std::size_t at = caller.rfind(kBetween);
    if (at == std::string::npos || caller.front() != '/') return std::nullopt;
    CodePlace place{caller.substr(0, at), 0};
    const char* const begin = caller.data() + at + kBetween.size();
    const char* const end = caller.data() + caller.size();
    const auto read = std::from_chars(begin, end, place.offset, 16);
    return read.ec == std::errc() && read.ptr == end ? std::optional(place) : std::nullopt;
}

std::string readable(std::string_view symbol) {
    std::string text = readable_symbol(symbol);
    if (text.size() > kLongestName) text.replace(kLongestName - 3, std::string::npos, "...");
    return text;
}

/// Returns an empty text if the file does not have the name.
std::string function_at(const CodePlace& place) {
    const Result<MappedFile> mapped = MappedFile::open(place.path);
    if (!mapped.ok()) return {};
    const elf::Bytes bytes = mapped.value().bytes();
    const Result<elf::File> file = elf::File::open(bytes);
    if (!file.ok()) return {};
    const elf::Symbols symbols(file.value());
    for (std::size_t i = 1; i < symbols.size(); ++i) {
        const std::optional<elf::Symbol> symbol = symbols.at(i);
        if (!symbol || !symbol->is_function || symbol->section == 0) continue;
        const elf::Section section = file.value().section(symbol->section);
        if (section.content.empty()) continue;
        const std::uint64_t begin =
            static_cast<std::uint64_t>(section.content.data() - bytes.data()) + symbol->offset;
        if (place.offset >= begin && place.offset - begin < symbol->bytes)
            return readable(symbols.name(*symbol));
    }
    return {};
}

}  // namespace

void name_callers(std::vector<std::string>& callers) {
    std::vector<std::string> named;
    for (const std::string& caller : callers) {
        const std::optional<CodePlace> place = place_in(caller);
        if (!place) {
            named.push_back(caller);
            continue;
        }
        const std::size_t slash = place->path.rfind('/');
        if (place->path.substr(slash) == kOwnLibrary) continue;
        const std::string file = caller.substr(slash + 1);
        const std::string function = function_at(*place);
        named.push_back(function.empty() ? file
                                         : std::string(function).append(" (").append(file).append(")"));
    }
    callers = std::move(named);
}

}  // namespace aoti_dbg

// See function_lines.hpp.
#include "binary/function_lines.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "binary/inlined_calls.hpp"
#include "binary/line_table.hpp"

namespace aoti_dbg {
namespace {

/// The largest wrapper of a model with ten thousand calls has a quarter of this. It bounds the memory.
constexpr std::uint64_t kLargestFunction = std::uint64_t{16} << 20U;

struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

std::optional<Range> find_function(const elf::File& file, std::string_view symbol) {
    const elf::Symbols symbols(file);
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        const std::optional<elf::Symbol> one = symbols.at(i);
        if (!one || !one->is_function || one->section == 0 || one->bytes == 0) continue;
        const std::string_view name = symbols.name(*one);
        // GCC keeps unlikely code of a function under a name of its own.
        if (!name.starts_with(symbol) || name.find('.') != std::string_view::npos) continue;
        const std::uint64_t begin = file.section(one->section).address + one->offset;
        return Range{begin, begin + std::min(one->bytes, kLargestFunction)};
    }
    return std::nullopt;
}

class Filler {
  public:
    Filler(const LineTable& table, Range range, FunctionLines& to) : table_(table), range_(range), to_(to) {}

    void fill(std::uint64_t begin, std::uint64_t end, std::size_t unit, std::uint64_t file,
              std::uint64_t line) {
        begin = std::max(begin, range_.begin);
        end = std::min(end, range_.end);
        if (begin >= end) return;
        const bool is_here = path(unit, file) == to_.file && line <= UINT32_MAX;
        const auto first = to_.lines.begin() + static_cast<std::ptrdiff_t>(begin - range_.begin);
        const auto last = to_.lines.begin() + static_cast<std::ptrdiff_t>(end - range_.begin);
        std::fill(first, last, is_here ? static_cast<std::uint32_t>(line) : 0U);
    }

    const std::string& path(std::size_t unit, std::uint64_t file) {
        const auto [place, is_new] = paths_.try_emplace({unit, file});
        if (is_new) place->second = table_.path(unit, file);
        return place->second;
    }

  private:
    const LineTable& table_;
    Range range_;
    FunctionLines& to_;
    std::map<std::pair<std::size_t, std::uint64_t>, std::string> paths_;
};

}  // namespace

Result<FunctionLines> lines_of_function(const elf::File& file, std::string_view symbol) {
    const Result<LineTable> table = LineTable::open(file);
    if (!table.ok()) return table.status();
    const std::optional<Range> range = find_function(file, symbol);
    if (!range) return Status::error("has no function " + std::string(symbol));
    FunctionLines found;
    found.address = range->begin;
    found.lines.resize(range->end - range->begin);
    Filler filler(table.value(), *range, found);
    const std::vector<LineSpan> spans = table.value().spans(range->begin, range->end);
    for (const LineSpan& span : spans)
        if (span.begin <= range->begin && span.end > range->begin)
            found.file = filler.path(span.unit, span.file);
    if (found.file.empty()) return Status::error("has no lines for " + std::string(symbol));
    for (const LineSpan& span : spans)
        filler.fill(span.begin, span.end, span.unit, span.file, span.line);
    for (const InlinedCall& call : inlined_calls(file, range->begin))
        filler.fill(call.begin, call.end, call.unit, call.file, call.line);
    return found;
}

}  // namespace aoti_dbg

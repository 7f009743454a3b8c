// The lookup in the generated table of shim functions: a binary search in constant data. It allocates nothing
// and is safe at any time, even before constructors have run. The compiler checks that the table is sorted by
// name.

#include "shim/runtime/shim_table.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace aoti_dbg {
namespace {

constexpr ShimRow<std::string_view> kRows[] = {
#include "shim/runtime/shim_table.inc"
};

constexpr bool is_sound() {
    for (std::size_t i = 0; i < std::size(kRows); ++i) {
        if (kRows[i].args.size() != kRows[i].mutates.size()) return false;
        if (i > 0 && kRows[i - 1].name >= kRows[i].name) return false;
    }
    return true;
}
static_assert(is_sound(), "shim_table.inc must be sorted and mark each argument as written or not");

/// The texts of a row, in the order of kText. A name that is printed as it is appears once.
constexpr std::array<std::string_view, 5> texts_of(const ShimRow<std::string_view>& row) {
    return {row.name, row.printed == row.name ? std::string_view() : row.printed, row.args, row.mutates,
            row.names};
}

constexpr std::size_t text_size() {
    std::size_t size = 0;
    for (const auto& row : kRows)
        for (const std::string_view text : texts_of(row))
            size += text.size();
    return size;
}

constexpr auto kText = [] {
    std::array<char, text_size()> all{};
    std::size_t end = 0;
    for (const auto& row : kRows)
        for (const std::string_view text : texts_of(row))
            for (const char letter : text)
                all[end++] = letter;
    return all;
}();

template <std::size_t... Row>
constexpr std::array<ShimSignature, sizeof...(Row)> packed(std::index_sequence<Row...>) {
    std::int32_t end = 0;
    const auto next = [&end](std::string_view text) {
        const ShimText taken(end, static_cast<std::uint32_t>(text.size()));
        end += static_cast<std::int32_t>(text.size());
        return taken;
    };
    const auto signature = [&next](const ShimRow<std::string_view>& row) {
        const ShimText name = next(row.name);
        const ShimText printed = row.printed == row.name ? name : next(row.printed);
        const ShimText args = next(row.args);
        const ShimText mutates = next(row.mutates);
        return ShimSignature{
            {name, printed, args, mutates, row.kind, row.integers, row.floats, next(row.names)}};
    };
    return {signature(kRows[Row])...};
}

constexpr auto kShims = packed(std::make_index_sequence<std::size(kRows)>());

}  // namespace

ShimText ShimText::outside(std::string_view text) {
    const auto distance =
        reinterpret_cast<std::intptr_t>(text.data()) - reinterpret_cast<std::intptr_t>(kText.data());
    return {static_cast<std::int32_t>(distance), static_cast<std::uint32_t>(text.size())};
}

ShimText::operator std::string_view() const {
    return {kText.data() + begin_, size_};
}

std::string_view ShimSignature::printed_by(TorchRelease release) const {
    // Since 2.14, Inductor calls a fallback that returns one tensor like an op that it chose itself.
    constexpr TorchRelease kDirectOutputs = 214;
    const std::string_view letters = args;
    const bool is_direct = release >= kDirectOutputs && std::count(letters.begin(), letters.end(), 'r') == 1;
    return is_direct ? name : printed;
}

std::string_view ShimSignature::name_of(std::size_t argument) const {
    std::string_view rest = names;
    for (; argument > 0 && !rest.empty(); --argument)
        rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
    return rest.substr(0, rest.find(' '));
}

const ShimSignature* find_shim(std::string_view name) {
    const auto* found = std::lower_bound(
        std::begin(kShims), std::end(kShims), name,
        [](const ShimSignature& shim, std::string_view requested) { return shim.name.view() < requested; });
    return found != std::end(kShims) && found->name == name ? found : nullptr;
}

}  // namespace aoti_dbg

// The lookup in the generated table of shim functions: a binary search in constant data. It allocates nothing
// and is safe at any time, even before constructors have run. The compiler checks that the table is sorted by
// name.

#include "shim/runtime/shim_table.hpp"

#include <algorithm>
#include <iterator>

namespace aoti_dbg {
namespace {

constexpr ShimSignature kShims[] = {
#include "shim/runtime/shim_table.inc"
};

constexpr bool is_sound() {
    for (std::size_t i = 0; i < std::size(kShims); ++i) {
        if (kShims[i].args.size() != kShims[i].mutates.size()) return false;
        if (i > 0 && kShims[i - 1].name >= kShims[i].name) return false;
    }
    return true;
}
static_assert(is_sound(), "shim_table.inc must be sorted and mark each argument as written or not");

}  // namespace

std::string_view ShimSignature::name_of(std::size_t argument) const {
    std::string_view rest = names;
    for (; argument > 0 && !rest.empty(); --argument)
        rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
    return rest.substr(0, rest.find(' '));
}

const ShimSignature* find_shim(std::string_view name) {
    const auto* found = std::lower_bound(
        std::begin(kShims), std::end(kShims), name,
        [](const ShimSignature& shim, std::string_view requested) { return shim.name < requested; });
    return found != std::end(kShims) && found->name == name ? found : nullptr;
}

}  // namespace aoti_dbg

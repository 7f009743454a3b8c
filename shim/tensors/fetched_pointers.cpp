#include "shim/tensors/fetched_pointers.hpp"

#include <cstddef>

namespace aoti_dbg {
namespace {

/// The pointers of a call that the model fetched, in argument order.
struct Asked {
    std::span<const PassedPointer> passed;
    bool with_kept = false;

    [[nodiscard]] bool takes(const PassedPointer& pointer) const { return with_kept || !pointer.is_kept; }
    [[nodiscard]] std::size_t count() const {
        std::size_t count = 0;
        for (const PassedPointer& pointer : passed)
            count += takes(pointer) ? 1 : 0;
        return count;
    }
};

std::size_t place_in(std::span<const FetchedPointer> fetched, std::size_t number, FetchOrder order) {
    return order == FetchOrder::first_to_last ? number : fetched.size() - 1 - number;
}

bool fits(const Asked& asked, std::span<const FetchedPointer> fetched, FetchOrder order) {
    std::size_t number = 0;
    for (const PassedPointer& pointer : asked.passed) {
        if (!asked.takes(pointer)) continue;
        if (pointer.address != fetched[place_in(fetched, number++, order)].address) return false;
    }
    return true;
}

bool match(const Asked& asked, std::span<const FetchedPointer> all, FetchOrder& order,
           std::vector<TensorHandle>& handles) {
    const std::size_t count = asked.count();
    if (count > all.size()) return false;
    const std::span<const FetchedPointer> fetched = all.last(count);
    if (!fits(asked, fetched, order)) {
        const FetchOrder other =
            order == FetchOrder::first_to_last ? FetchOrder::last_to_first : FetchOrder::first_to_last;
        if (!fits(asked, fetched, other)) return false;
        order = other;
    }
    handles.clear();
    std::size_t number = 0;
    for (const PassedPointer& pointer : asked.passed)
        handles.push_back(asked.takes(pointer) ? fetched[place_in(fetched, number++, order)].handle
                                               : nullptr);
    return true;
}

}  // namespace

bool match_pointers(std::span<const PassedPointer> passed, std::span<const FetchedPointer> fetched,
                    FetchOrder& order, std::vector<TensorHandle>& handles) {
    return match({passed, false}, fetched, order, handles) || match({passed, true}, fetched, order, handles);
}

}  // namespace aoti_dbg

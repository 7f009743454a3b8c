// Table entries in mapped files. Others can read them at any time, even after this process died while writing
// one. An entry has a `number`, which is 0 while the entry is invalid.
#pragma once

#include <cstdint>

namespace aoti_dbg {

template <typename T>
void publish(T& field, T value) {
    __atomic_store(&field, &value, __ATOMIC_RELEASE);
}

/// Orders stores: readers see earlier stores before later ones. ThreadSanitizer understands no fence for
/// this, and x86 keeps stores in order by itself.
inline void order_stores() {
#if defined(__aarch64__)
    asm volatile("dmb ishst" ::: "memory");
#else
    asm volatile("" ::: "memory");
#endif
}

/// Copies `entry`, whose number must be 0, and publishes it with `number`.
template <typename Entry>
void write_entry(Entry& to, const Entry& entry, std::uint64_t number) {
    publish(to.number, std::uint64_t{0});
    order_stores();
    to = entry;
    publish(to.number, number);
}

}  // namespace aoti_dbg

// Entries of tables in mapped files, which others read at any moment: also when this process has died in the
// middle of one. An entry has a `number`, which is 0 while it says nothing.
#pragma once

#include <cstdint>

namespace aoti_dbg {

template <typename T>
void publish(T& field, T value) {
    __atomic_store(&field, &value, __ATOMIC_RELEASE);
}

/// Stores before it are seen by a reader before stores after it. (A fence that ThreadSanitizer understands
/// does not exist; x86 keeps stores in order by itself.)
inline void order_stores() {
#if defined(__aarch64__)
    asm volatile("dmb ishst" ::: "memory");
#else
    asm volatile("" ::: "memory");
#endif
}

/// Has the processor fetch the line, so that who writes there next does not wait for it. A table that is
/// written round and round is out of its caches by then.
inline void expect_to_write(const void* address) {
    __builtin_prefetch(address, 1);
}

/// `entry` has no number yet: it is 0.
template <typename Entry>
void write_entry(Entry& to, const Entry& entry, std::uint64_t number) {
    publish(to.number, std::uint64_t{0});
    order_stores();
    to = entry;
    publish(to.number, number);
}

}  // namespace aoti_dbg

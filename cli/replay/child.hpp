// Runs work in a child process. A fault makes a process's context unusable, so each fault costs a child.
#pragma once

#include <sys/mman.h>

#include <functional>
#include <memory>
#include <new>
#include <type_traits>

#include "base/status.hpp"

namespace aoti_dbg::cli {

/// Returns the exit code that `work` returns, up to 254. Fails if an exception or a signal ends the child.
/// The driver must not have started in this process.
Result<int> run_in_child(const std::function<int()>& work);

struct Unmap {
    template <typename Object>
    void operator()(Object* object) const {
        munmap(object, sizeof(Object));
    }
};

/// Returns an object that child processes share with this one. Returns null, with errno, without memory.
template <typename Object>
std::unique_ptr<Object, Unmap> shared_with_children() {
    static_assert(std::is_trivially_destructible_v<Object>);
    void* const memory =
        mmap(nullptr, sizeof(Object), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return std::unique_ptr<Object, Unmap>(memory == MAP_FAILED ? nullptr : new (memory) Object);
}

}  // namespace aoti_dbg::cli

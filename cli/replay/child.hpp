// Work in a child process. A fault ends a process's context for good, so each fault costs a child.
#pragma once

#include <sys/mman.h>

#include <functional>
#include <new>

#include "base/status.hpp"

namespace aoti_dbg::cli {

/// Returns the exit code that `work` returns. Fails if a signal ends the child. The driver must not have
/// started in this process.
Result<int> run_in_child(const std::function<int()>& work);

/// Returns an object that child processes share with this one, for the rest of this process. Returns null
/// without memory.
template <typename Object>
Object* shared_with_children() {
    void* const memory =
        mmap(nullptr, sizeof(Object), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) Object;
}

}  // namespace aoti_dbg::cli

// Runs work in a child process. A fault makes a process's context unusable, so each fault costs a child.
#pragma once

#include <sys/mman.h>

#include <functional>
#include <new>

#include "base/status.hpp"

namespace aoti_dbg::cli {

/// Returns the exit code that `work` returns. Fails if a signal ends the child. The driver must not have
/// started in this process.
Result<int> run_in_child(const std::function<int()>& work);

/// Creates an object that this process shares with its children. It is never freed. Returns null if there is
/// no memory.
template <typename Object>
Object* shared_with_children() {
    void* const memory =
        mmap(nullptr, sizeof(Object), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) Object;
}

}  // namespace aoti_dbg::cli

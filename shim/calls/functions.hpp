// Names of the functions that the driver launches. The library learns them when a program gets them from a
// module or library. Otherwise it asks the driver at the first launch. The driver can reuse a handle for
// another function, so names are forgotten with their module, library or context.
#pragma once

#include <string_view>

namespace aoti_dbg {

struct Name;
struct ThreadState;

/// `path` is the file that the module was loaded from.
void learn_module(const void* module, std::string_view path);
/// `caller` is the code that requests the function. For a model, the library knows the names of its kernels.
void learn_function(const void* function, const void* owner, std::string_view symbol, const void* caller);
/// Gives `function`, which the driver created from `kernel`, the same name.
void learn_same(const void* function, const void* kernel);

void forget_owner(const void* owner);
void forget_all();

/// Never returns null.
const Name* function_name(ThreadState& state, const void* function);

}  // namespace aoti_dbg

// Names of the functions that the driver launches: learnt when a program fetches them from a module or
// library, else asked of the driver at the first launch. A handle can come back for another function, so what
// is known goes with the module, library or context it belongs to.
#pragma once

#include <string_view>

namespace aoti_dbg {

struct Name;
struct ThreadState;

/// `module`: the image's file, if it was one.
void learn_module(const void* module, std::string_view path);
/// `caller` is the code that asks: of a model it is known what it calls its kernels.
void learn_function(const void* function, const void* owner, std::string_view symbol, const void* caller);
/// `function` was made out of `kernel` and goes by the same name.
void learn_same(const void* function, const void* kernel);

void forget_owner(const void* owner);
void forget_all();

/// Never null.
const Name* function_name(ThreadState& state, const void* function);

}  // namespace aoti_dbg

// What PyTorch says about one graph that torch.compile compiled, and the name of its runs. Texts are empty if
// they are unknown.
#pragma once

#include <string>
#include <string_view>

namespace aoti_dbg {

struct CompiledFunction {
    std::string direction;   // "forward", "backward", "inference"
    std::string graph;       // as the wrapper says: "0_forward"; a cached wrapper keeps its old number
    std::string compile_id;  // of Dynamo: "0/1" is the first recompilation of the first function
    std::string function;    // "Net.forward"
    std::string place;       // of the function: "net.py:12"
    std::string recompiled;  // the guard that failed
};

/// Returns "torch.compile 0/1 forward of Net.forward". Forward and backward differ in the direction only.
std::string title_of(const CompiledFunction& function);

/// True for a title, and for the model of a C++ wrapper, whose function is unknown. A recorded Python stack
/// has the line that called such a function.
inline bool is_compiled_function(std::string_view model_name) {
    return model_name.starts_with("torch.compile");
}

/// Returns the title with the function's place and the reason for its recompilation.
std::string description_of(const CompiledFunction& function);

/// A run of a compiled function, as the flight ring names it.
struct CompiledRun {
    std::string_view title;   // empty: not a run of a compiled function
    std::string_view caller;  // the user's line that called it: `File "train.py", line 8, in step`
};

std::string name_of_run(std::string_view title, std::string_view caller);

/// The inverse of name_of_run(). Its texts point into `name`.
CompiledRun compiled_run_of(std::string_view name);

}  // namespace aoti_dbg

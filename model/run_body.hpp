// Reads the body of a model's run_impl into call sites, control flow and memory (wrapper_info.hpp).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/reading_limits.hpp"
#include "model/statement.hpp"
#include "model/wrapper_info.hpp"

namespace aoti_dbg {

/// A parameter of a cpp_* kernel, as in its prototype.
struct CppParameter {
    std::string name;
    std::string type;  // const float*
    Role role = Role::reads;
};

/// An op behind the proxy executor, from the JSON beside the model.
struct ExternNode {
    struct Input {
        std::string name;
        std::string value;         // unless it is a tensor
        std::string type;          // of the value: as_float, as_sym_ints
        std::size_t tensors = 0;   // number of the call's tensors that it takes
        std::size_t integers = 0;  // number of the call's integers that it takes
    };
    std::string target;  // mylib::my_op
    std::vector<Input> inputs;
    std::size_t outputs = 0;  // number of outputs at the end of the call's tensors
};

/// What is known of the functions that a body calls.
struct Callees {
    std::map<std::string, std::vector<CppParameter>, std::less<>> cpp_kernels;
    std::map<std::string, std::uint32_t, std::less<>> triton_kernels;  // index by name
    std::vector<ExternNode> extern_nodes;
};

/// Reads from after the body's opening bracket to after its closing one.
void read_run_body(StatementReader& reader, const Callees& callees, const WrapperInfo& wrapper,
                   Keeper& keeper, RunBody& body);

}  // namespace aoti_dbg

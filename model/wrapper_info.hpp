// What the wrapper source of a package says about a model: the calls of a run, PyTorch's names of their
// arguments, and the memory behind these names. Plain values that do not refer to the text they came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/role.hpp"

namespace aoti_dbg {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

enum class SiteKind : std::uint8_t {
    op,             // aoti_torch_<device>_<op>(...)
    triton,         // a kernel from Inductor: call_<kernel>(...)
    user_triton,    // a kernel from the model's author
    cpp,            // cpp_fused_...(...)
    device_kernel,  // kernels.<name>(...): precompiled, such as CUTLASS
    proxy,          // aoti_torch_proxy_executor_call_function
    dispatcher,     // aoti_torch_call_dispatcher
    copy,           // bookkeeping that writes a tensor: aoti_torch_copy_, aoti_torch_zero_, aoti_torch_clone
};

enum class ArgumentKind : std::uint8_t {
    tensor,
    optional_tensor,  // present; a missing one is `absent`
    tensor_list,
    scalar,
    scalar_list,
    string,
    absent,   // nullptr
    unknown,  // streams, kernel tables and other expressions
};

/// How an argument views a tensor that has another name. Texts are as written, with arrays expanded. Equal
/// properties are empty.
struct WrittenView {
    std::string sizes;
    std::string strides;
    std::string offset;
    std::string dtype;
    bool operator==(const WrittenView&) const = default;
};

struct TensorName {
    std::string name;  // buf4, arg5_1, l1_bias; empty for an absent element of a list
    std::optional<WrittenView> view;
    bool operator==(const TensorName&) const = default;
};

struct Argument {
    std::string text;  // as written
    ArgumentKind kind = ArgumentKind::unknown;
    Role role = Role::reads;          // as far as the source says; an op's own declaration says more
    std::vector<TensorName> tensors;  // one, or those of a list
    std::string value;                // of a scalar or string, resolved through its variable;
                                      // "tensor, None" for a list of optional tensors
    std::string parameter;            // its name in the kernel or op (in_ptr0), empty if unknown
    std::string type;                 // *fp32, const float*, as_float; empty if unknown
    std::uint32_t integers = 0;       // number of the proxy executor's integers that it takes

    /// Returns PyTorch's printed text: the tensor's name, or a scalar as written.
    [[nodiscard]] std::string_view label() const {
        return tensors.empty() ? std::string_view(text) : std::string_view(tensors.front().name);
    }
};

struct CallSite {
    SiteKind kind = SiteKind::op;
    std::string
        function;      // the called function: aoti_torch_cpu_addmm_out, cpp_fused_relu_0, call_triton_poi_0
    std::string name;  // as PyTorch prints it: triton_poi_0, or an op's shim function
    std::string key;   // identifies calls at run time (call_matcher.hpp)
    std::uint32_t line = 0;
    std::uint32_t region = kNone;      // its branch or loop (RunBody::regions)
    bool may_repeat = false;           // in a function that a run may call several times
    std::uint32_t kernel = kNone;      // in WrapperInfo::triton_kernels
    std::uint32_t proxy_node = kNone;  // index among the extern nodes
    std::vector<Argument> arguments;
    std::vector<std::string> source_nodes;
    std::vector<std::string> original_aten;
    std::vector<std::string> python_stack;  // lines of the user's stack, from a kernel context guard
    std::string provenance;                 // key into WrapperInfo::origins, if the source has one
    std::string statement;                  // of a Python wrapper, with $0 for the first argument
    bool has_more_arguments = false;        // some were not kept
};

struct Region {
    enum class Kind : std::uint8_t { branch, other_branch, loop };
    Kind kind = Kind::branch;
    std::uint32_t parent = kNone;
    std::uint32_t line = 0;
};

/// One step of a body's control flow, in source order. Branches and loops without calls are omitted.
struct FlowStep {
    enum class Kind : std::uint8_t {
        call,    // value: the site
        branch,  // if
        other,   // else; value: 1 for else if
        end_branch,
        loop,  // value: 1 if only a break ends it
        end_loop,
        leave,   // if (...) break;
        repeat,  // if (...) continue;
    };
    Kind kind = Kind::call;
    std::uint32_t value = 0;
};

/// From call site `from` on, `name` refers to memory that had another name.
struct SharedMemory {
    enum class How : std::uint8_t {
        moved,   // the other name is invalid: auto buf4 = std::move(buf0);  // reuse
        shared,  // both names are valid
        view,    // moved or shared, with another layout
    };
    std::string name;
    std::string of;
    How how = How::moved;
    std::uint32_t from = 0;
    std::optional<WrittenView> layout = {};  // of a view, as written
};

struct Allocation {
    std::string name;
    std::string dtype;   // float32
    std::string device;  // cuda
    std::string sizes;   // {s77, 12L}
    std::string strides;
    std::string pool;  // the tensor that contains it, at `offset` bytes
    std::string offset;
    std::uint32_t before = 0;      // next call site
    std::uint32_t region = kNone;  // its branch or loop
};

struct Free {
    std::string name;
    std::uint32_t before = 0;
};

/// What one function of the model does: a run, or constant folding.
struct RunBody {
    std::vector<CallSite> sites;
    std::vector<Region> regions;
    std::vector<FlowStep> flow;
    std::vector<SharedMemory> shared_memory;
    std::vector<Allocation> allocations;
    std::vector<Free> frees;
    std::vector<std::string> inputs;                          // by position, as the body names them
    std::vector<TensorName> outputs;                          // by position
    std::map<std::string, std::string, std::less<>> symbols;  // s77 -> arg2_1_size[0], int_array_3 -> {1L}
};

struct ConstantInfo {
    std::string name;
    std::string original_fqn;
    std::string dtype;  // float32
    std::string shape;  // {16, 10}
    std::string stride;
    std::string type;  // Parameter, Buffer, TensorConstant, FoldedConstant
    std::string data_size;
    bool from_folded = false;
};

struct TritonParameter {
    std::string name;
    std::string type;  // *fp32, i32, constexpr; empty if the signature lacks it
    Role role = Role::reads;
    std::uint32_t alignment = 0;  // bytes that its code relies on, 0 if unknown
};

struct TritonKernelInfo {
    std::string name;      // triton_poi_fused_0
    std::string cubin;     // as in package.hpp
    std::string function;  // name of the function in the cubin
    std::string source;    // Python, cut if it is too long
    bool is_user_defined = false;
    std::vector<TritonParameter> parameters;  // as the wrapper passes them
    std::vector<std::string> mutated;         // mutated arguments, as the source declares
    /// What a launch passes, in order: index into `parameters`, kNone for a scratch buffer or similar.
    std::vector<std::uint32_t> launched;
    bool has_more_scratch = false;  // the source does not say how many scratch buffers follow
};

/// Return the key of a call through the proxy executor or the dispatcher.
std::string proxy_key(std::uint32_t node);
std::string dispatcher_key(std::string_view op, std::string_view overload);

/// The origin of a kernel, from kernel_information.json.
struct KernelOrigin {
    std::vector<std::string> stack_traces;
    std::vector<std::string> post_grad_nodes;
    std::vector<std::string> pre_grad_nodes;
};

/// The requirements of an input, as far as the source checks them.
struct InputGuard {
    struct Size {
        bool is_said = false;
        std::int64_t least = 0;
        std::int64_t most = INT64_MAX;
        bool operator==(const Size&) const = default;
    };
    std::uint32_t position = 0;
    std::uint32_t line = 0;
    std::string name;
    std::string dtype;                        // float32, empty if unknown
    std::optional<std::int64_t> device_type;  // PyTorch's number: 0 cpu, 1 cuda
    std::vector<Size> sizes;                  // by dimension
    std::vector<std::int64_t> strides;        // by dimension, -1 if unknown
};

/// What a Python wrapper asserts of a tensor. The sizes and strides may be symbols, so each run says them.
struct ExpectedTensor {
    std::string name;
    std::string dtype;            // float32, empty if nothing is said
    std::uint32_t alignment = 0;  // of its offset, in bytes; 0 if nothing is said
    std::uint32_t line = 0;
    std::uint32_t site = kNone;  // the op that returns it, if it has a site
    std::string op;              // its name; empty for an input
};

struct WrapperInfo {
    std::vector<std::string> inputs;  // by position
    std::vector<InputGuard> input_guards;
    std::vector<ExpectedTensor> expected;   // in the order of the source
    bool has_weights = true;                // false if it gets its constants after loading
    std::vector<std::string> output_names;  // by position: output0; RunBody::outputs describes them
    std::vector<ConstantInfo> constants;    // by index
    std::vector<TritonKernelInfo> triton_kernels;
    std::map<std::string, KernelOrigin, std::less<>> origins;  // "kernel:handle" or kernel
    RunBody run;
    RunBody folding;          // of constants, when the model loads
    bool is_complete = true;  // false if a limit was reached and something is missing
    std::uint64_t steps = 0;  // work of reading; tests bound it
};

}  // namespace aoti_dbg

// What the wrapper source of a package tells about a model: the calls that a run makes, each argument by the
// name that PyTorch prints for it, and what memory the names stand for. Plain values: nothing in here refers
// to the text that it was read from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

enum class CallKind : std::uint8_t {
    op,             // aoti_torch_<device>_<op>(...)
    triton,         // a kernel that Inductor wrote: call_<kernel>(...)
    user_triton,    // a kernel that the model's author wrote
    cpp,            // cpp_fused_...(...)
    device_kernel,  // kernels.<name>(...): a precompiled kernel, CUTLASS for one
    proxy,          // aoti_torch_proxy_executor_call_function
    dispatcher,     // aoti_torch_call_dispatcher
    copy,           // bookkeeping that writes a tensor: aoti_torch_copy_, aoti_torch_zero_, aoti_torch_clone
};

enum class ArgumentKind : std::uint8_t {
    tensor,
    optional_tensor,  // that is there; one that is not is `absent`
    tensor_list,
    scalar,
    scalar_list,
    string,
    absent,   // nullptr
    unknown,  // streams, kernel tables, expressions that are not understood
};

/// What the call does with the memory, as far as its source says. An op's own declaration says more.
enum class Access : std::uint8_t {
    unknown,  // a Triton kernel of the model's author: its source is not analysed
    reads,
    writes,   // what was there before is not read
    updates,  // read and written
};

/// How an argument looks at a tensor that has another name; texts as written, arrays spelled out. What does
/// not differ is empty.
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
    Access access = Access::reads;
    std::vector<TensorName> tensors;  // one, or a list's
    std::string value;                // of a scalar or string, seen through the variable that carries it
    std::string parameter;            // its name in the kernel or op: in_ptr0; empty where nothing says it
    std::string type;                 // *fp32, const float*; empty where nothing says it
    std::uint32_t integers = 0;       // that it takes of those which the proxy executor is passed

    /// What PyTorch prints for it: the tensor's name, a scalar as written.
    [[nodiscard]] std::string_view label() const {
        return tensors.empty() ? std::string_view(text) : std::string_view(tensors.front().name);
    }
};

struct CallSite {
    CallKind kind = CallKind::op;
    std::string function;  // what is called: aoti_torch_cpu_addmm_out, cpp_fused_relu_0, call_triton_poi_0
    std::string name;      // as PyTorch prints kernels, and ops by their shim function: triton_poi_0
    std::string key;       // by which calls at run time are matched (call_matcher.hpp)
    std::uint32_t line = 0;
    std::uint32_t region = kNone;      // branch or loop that it lies in (RunBody::regions)
    std::uint32_t kernel = kNone;      // in WrapperInfo::triton_kernels
    std::uint32_t proxy_node = kNone;  // index among the extern nodes
    std::vector<Argument> arguments;
    std::vector<std::string> source_nodes;
    std::vector<std::string> original_aten;
    std::string provenance;           // key into WrapperInfo::origins, where the source carries one
    bool has_more_arguments = false;  // than were kept
};

struct Region {
    enum class Kind : std::uint8_t { branch, other_branch, loop };
    Kind kind = Kind::branch;
    std::uint32_t parent = kNone;
    std::uint32_t line = 0;
};

/// One step of a body's control flow, in source order. Branches and loops without any call are left out.
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

/// From call site `from` on, `name` stands for memory that had another name.
struct SharedMemory {
    enum class How : std::uint8_t {
        moved,   // the other name is gone: auto buf4 = std::move(buf0);  // reuse
        shared,  // both hold it
        view,    // as moved or shared, with another layout
    };
    std::string name;
    std::string of;
    How how = How::moved;
    std::uint32_t from = 0;
};

struct Allocation {
    std::string name;
    std::string dtype;   // float32
    std::string device;  // cuda
    std::string sizes;   // {s77, 12L}
    std::string strides;
    std::string pool;  // the tensor it is a part of, at `offset` bytes
    std::string offset;
    std::uint32_t before = 0;      // the call site that comes next
    std::uint32_t region = kNone;  // branch or loop that it lies in
};

struct Free {
    std::string name;
    std::uint32_t before = 0;
};

/// What one function of the model does: a run, or the folding of constants.
struct RunBody {
    std::vector<CallSite> sites;
    std::vector<Region> regions;
    std::vector<FlowStep> flow;
    std::vector<SharedMemory> shared_memory;
    std::vector<Allocation> allocations;
    std::vector<Free> frees;
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
    std::string type;  // *fp32, i32, constexpr; empty where the signature does not have it
    Access access = Access::reads;
    std::uint32_t alignment = 0;  // bytes that its code relies on; 0: none is said
};

struct TritonKernelInfo {
    std::string name;      // triton_poi_fused_0
    std::string cubin;     // as in package.hpp
    std::string function;  // the function's name in the cubin
    std::string source;    // Python; cut where it is too long
    bool is_user_defined = false;
    std::vector<TritonParameter> parameters;  // as the wrapper passes them
    std::vector<std::string> mutated;         // what the source declares as such
    /// What a launch passes, in order: index into `parameters`, kNone for a scratch buffer or the like.
    std::vector<std::uint32_t> launched;
};

/// The key of a call that goes through the proxy executor, and of one through the dispatcher.
std::string proxy_key(std::uint32_t node);
std::string dispatcher_key(std::string_view op, std::string_view overload);

/// Where a kernel comes from, said by kernel_information.json.
struct KernelOrigin {
    std::vector<std::string> stack_traces;
    std::vector<std::string> post_grad_nodes;
    std::vector<std::string> pre_grad_nodes;
};

/// What an input has to be, as far as the source checks it.
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
    std::string dtype;                        // float32; empty: not said
    std::optional<std::int64_t> device_type;  // PyTorch's number: 0 cpu, 1 cuda
    std::vector<Size> sizes;                  // by dimension
    std::vector<std::int64_t> strides;        // by dimension; -1: not said
};

struct WrapperInfo {
    std::vector<std::string> inputs;  // by position
    std::vector<InputGuard> input_guards;
    bool has_weights = true;                // false: its constants are given to it after it was loaded
    std::vector<std::string> output_names;  // by position: output0; RunBody::outputs has what they are
    std::vector<ConstantInfo> constants;    // by index
    std::vector<TritonKernelInfo> triton_kernels;
    std::map<std::string, KernelOrigin, std::less<>> origins;  // "kernel:handle" or kernel
    RunBody run;
    RunBody folding;          // of constants, when the model is loaded
    bool is_complete = true;  // false: a limit was met, and something was left out
    std::uint64_t steps = 0;  // work that reading took; tests bound it
};

}  // namespace aoti_dbg

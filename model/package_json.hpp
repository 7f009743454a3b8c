// Reads the JSON files of a package: the ops behind the proxy executor and the origin of kernels. Reads them
// as a stream of values, so that depth and size cost no memory. A malformed file yields nothing.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/reading_limits.hpp"
#include "model/run_body.hpp"
#include "model/wrapper_info.hpp"

namespace aoti_dbg {

/// Reads {"nodes": [{"name": "buf1", "node": {"target": "mylib::op", "inputs": [{"name": "x", "arg":
/// {"as_tensor": ...
std::vector<ExternNode> read_extern_nodes(std::string_view json, Keeper& keeper);

/// Reads {"triton_poi_fused_0:1": {"stack_traces": [...], "post_grad_nodes": [...], "pre_grad_nodes":
/// [...]}}.
std::map<std::string, KernelOrigin, std::less<>> read_kernel_information(std::string_view json,
                                                                         Keeper& keeper);

/// These read the JSON of a TORCH_TRACE log.

struct TraceEntry {
    std::string name;   // of the artifact or graph, or the kind of entry
    std::string frame;  // frame, recompilation and attempt; empty: compiled ahead of time
};

/// Reads {"artifact": {"name": "before_pre_grad_graph", ...}, "frame_id": 0, "frame_compile_id": 1,
/// "attempt": 0, ...}.
TraceEntry read_trace_entry(std::string_view json);

using KernelOrigins = std::map<std::string, KernelOrigin, std::less<>>;

/// Adds {"cppCodeToPost": {"triton_poi_fused_0:1": ["add", ...]}, "postToPre": {"add": ["gelu"]}, ...}.
void read_node_mappings(std::string_view json, KernelOrigins& origins);

/// Adds {"triton_poi_fused_0:1": ["File ...", ...]}.
void read_kernel_stacks(std::string_view json, KernelOrigins& origins);

}  // namespace aoti_dbg

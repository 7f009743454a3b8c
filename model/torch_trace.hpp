// Reads the logs that PyTorch writes with TORCH_TRACE: for each compilation the wrapper source and, with
// INDUCTOR_PROVENANCE=1, the graph nodes and Python stacks of its kernels. A log has lines of JSON, and
// payloads as indented lines below them. Accepts any bytes. Only the command uses this.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "model/python_stack.hpp"
#include "model/wrapper_info.hpp"
#include "model/wrapper_print.hpp"

namespace aoti_dbg {

/// A node of a printed FX graph.
struct TracedNode {
    PythonLine python;  // its file is empty if PyTorch does not know it
    std::string aten;   // "aten.addmm"; empty: it calls no ATen op
};

using TracedGraph = std::map<std::string, TracedNode, std::less<>>;

struct TracedCompilation {
    std::vector<WrapperPrint> wrappers;                        // one, or also the C++ source inside of it
    std::map<std::string, KernelOrigin, std::less<>> origins;  // "kernel:handle"
    TracedGraph pre_grad;
    TracedGraph post_grad;
};

class TorchTrace {
  public:
    /// Reads a log, or all logs in a folder. Fails if there is none, or none can be read.
    static Result<TorchTrace> read(const std::string& path);

    /// Adds the compilations of one log.
    void add(std::string_view log);

    [[nodiscard]] const std::vector<TracedCompilation>& compilations() const { return compilations_; }
    /// Returns the compilations that generated this wrapper.
    [[nodiscard]] std::vector<const TracedCompilation*> of(const WrapperPrint& wrapper) const;

  private:
    std::vector<TracedCompilation> compilations_;
};

/// Reads a graph as PyTorch prints it: nodes, with a `# File: ...` comment above them.
TracedGraph read_traced_graph(std::string_view graph);

}  // namespace aoti_dbg

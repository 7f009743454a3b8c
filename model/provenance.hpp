// Where the kernels of a model come from: kernel -> ATen ops -> FX nodes -> lines of the model's Python
// source. Three sources say so: the comments of the wrapper source, kernel_information.json of the package
// (compiled with INDUCTOR_PROVENANCE=1), and the logs of TORCH_TRACE. Nothing is claimed from a source that
// belongs to another compilation, or that is ambiguous. Only the command uses this; it accepts any bytes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/wrapper_info.hpp"
#include "model/wrapper_print.hpp"

namespace aoti_dbg {

class TorchTrace;
struct TracedCompilation;

/// Everything that is known about the origin of one kernel.
struct SiteOrigin {
    enum class From : std::uint8_t {
        nothing,
        wrapper,  // the comments of the wrapper source
        package,  // kernel_information.json
        trace,    // a log of TORCH_TRACE
    };
    std::vector<std::string> source_nodes;     // as the wrapper's comment names them: "linear"
    std::vector<std::string> aten;             // "aten.addmm"
    std::vector<std::string> pre_grad_nodes;   // nodes of the graph that the user's code became
    std::vector<std::string> post_grad_nodes;  // nodes of the graph that Inductor compiled
    std::vector<std::string> python_stack;     // Python's stacks, line by line
    std::vector<std::string> python_lines;     // "net.py:12 in forward: x = self.l1(x)", without duplicates
    From from = From::nothing;                 // of the richest source that contributed

    [[nodiscard]] bool is_empty() const { return from == From::nothing; }
};

/// Returns "wrapper", "package", "trace" or an empty text.
std::string_view word_of(SiteOrigin::From from);

/// A kernel at one place of a model, as recordings name it. Unknown members are empty or 0.
struct NamedSite {
    std::string kernel;      // as PyTorch prints it
    std::string symbol;      // the function called, if different
    std::uint32_t line = 0;  // of the kept wrapper source
    std::vector<std::string> source_nodes;
    std::vector<std::string> aten;
    std::vector<std::string> python_stack;
};

/// The provenance of one model.
class Provenance {
  public:
    /// `wrapper` is the text of the wrapper source, C++ or Python, and `kernel_information` that of the
    /// package's file. Either may be empty. `trace` may be null, and must live longer.
    Provenance(std::string_view wrapper, std::string_view kernel_information, const TorchTrace* trace);

    /// Returns what the recording says of the site, completed.
    [[nodiscard]] SiteOrigin of(const NamedSite& site) const;

    /// True if the logs have a compilation of this wrapper.
    [[nodiscard]] bool is_traced() const { return !compilations_.empty(); }

  private:
    using Origins = std::map<std::string, KernelOrigin, std::less<>>;

    [[nodiscard]] std::string key_of(const NamedSite& site,
                                     const std::vector<ProvenanceHandle>& handles) const;
    void add_package(const NamedSite& site, SiteOrigin& origin) const;
    void add_trace(const NamedSite& site, SiteOrigin& origin) const;

    WrapperPrint print_;
    Origins origins_;
    std::vector<const TracedCompilation*> compilations_;  // with the same wrapper
};

}  // namespace aoti_dbg

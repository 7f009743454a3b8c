#include "cli/inspect/visible.hpp"

#include <algorithm>
#include <utility>

#include "base/words.hpp"

namespace aoti_dbg::cli {
namespace {

using State = Visible::State;

bool imports(const InspectedModel& facts, const char* function) {
    return facts.library && facts.library->imports.count(function) != 0;
}

template <typename Is>
std::size_t count_kernels(const InspectedModel& facts, const Is& is) {
    return static_cast<std::size_t>(std::ranges::count_if(facts.kernels, is));
}

class VisibleReport {
  public:
    explicit VisibleReport(const InspectedModel& facts) : facts_(facts) {}

    void calls() {
        if (!facts_.library) return add(State::partly, "calls", "the package has no library to inspect");
        if (!facts_.library->problem.empty())
            return add(State::no, "calls", "the library " + facts_.library->problem);
        const auto& inside = facts_.library->bound_inside;
        const auto invisible =
            count_kernels(facts_, [&](const ModelKernel& kernel) { return inside.count(kernel.name) != 0; });
        if (invisible != 0)
            return add(State::partly, "calls",
                       "all except " + counted(invisible, "kernel") + " without an import slot, such as " +
                           *inside.begin());
        if (!facts_.has_wrapper && facts_.kernel_sources == 0 && !facts_.library->cpp_kernels.empty())
            return add(State::partly, "calls", "every op, and C++ kernels whose names begin with cpp_fused_");
        add(State::yes, "calls", "every op and kernel, by name and in order");
    }

    void arguments(const WrapperInfo& info) {
        if (!facts_.has_wrapper)
            return add(State::no, "argument names", "arg0, arg1, ..., because there is no wrapper source");
        const bool is_inline = std::ranges::any_of(facts_.kernels, [](const ModelKernel& kernel) {
            return kernel.kind == SiteKind::triton && kernel.calls == 0;
        });
        if (is_inline && info.triton_kernels.empty())
            return add(State::partly, "argument names",
                       "only for ops: this release launches Triton kernels without a call site");
        if (!facts_.is_complete)
            return add(State::partly, "argument names", "the wrapper source exceeds the reader's limits");
        add(State::yes, "argument names", "as in the wrapper source");
    }

    void lines() {
        if (facts_.has_wrapper) return add(State::yes, "source lines", "from the wrapper source");
        if (facts_.library && facts_.library->has_lines)
            return add(State::yes, "source lines", "from the line table of the library");
        add(State::no, "source lines",
            "no wrapper source, no line table (AOT_INDUCTOR_DEBUG_SYMBOLS=1 adds it)");
    }

    void origins() {
        const std::size_t named = count_kernels(
            facts_, [](const ModelKernel& kernel) { return !kernel.aten.empty() || !kernel.nodes.empty(); });
        add_share("ATen ops and nodes", named, "the package does not name them");
        const std::size_t traced =
            count_kernels(facts_, [](const ModelKernel& kernel) { return !kernel.stack_traces.empty(); });
        add_share("Python lines", traced,
                  "no stack traces (INDUCTOR_PROVENANCE=1 adds them when you compile)");
    }

    void input_checks() {
        if (facts_.has_input_guards)
            return add(State::yes, "input checks", "dtype, sizes and strides of each input");
        add(facts_.has_wrapper ? State::partly : State::no, "input checks",
            facts_.has_wrapper ? "only the number of inputs: the package does not describe them"
                               : "none, because there is no wrapper source");
    }

    void values() {
        const std::size_t dispatched = count_kernels(
            facts_, [](const ModelKernel& kernel) { return kernel.kind == SiteKind::dispatcher; });
        if (dispatched != 0)
            return add(State::partly, "values",
                       "all except those of " + counted(dispatched, "op") + " that the dispatcher calls");
        if (facts_.device == "cuda" && !facts_.has_wrapper)
            return add(State::partly, "values",
                       "for kernels, only arguments whose size the driver reports (CUDA 12.4 or later)");
        const std::size_t packed = count_kernels(facts_, [](const ModelKernel& kernel) {
            return kernel.name.find("mkldnn") != std::string::npos;
        });
        if (packed != 0) return add(State::partly, "values", "all except weights that mkldnn packed");
        if (facts_.device == "cuda")
            return add(State::yes, "values",
                       "statistics and files of every tensor, but not inside CUDA graphs");
        add(State::yes, "values", "statistics and files of every tensor");
    }

    void faults() {
        if (facts_.device != "cuda") return;
        const auto is_triton = [](const ModelKernel& kernel) { return kernel.kind == SiteKind::triton; };
        const std::size_t all = count_kernels(facts_, is_triton);
        const std::size_t with_source = count_kernels(
            facts_, [&](const ModelKernel& kernel) { return is_triton(kernel) && !kernel.language.empty(); });
        if (!facts_.has_wrapper || (all != 0 && with_source == 0))
            add(State::partly, "GPU faults", "kernel and line number, because there are no Triton sources");
        else
            add(State::yes, "GPU faults", "kernel, argument and source line");
        if (imports(facts_, "cuLaunchKernelEx"))
            add(State::partly, "overlapping kernels",
                "the model can use programmatic dependent launch. Completion markers prevent the "
                "overlap");
    }

    void printer() {
        if (facts_.printer.empty()) return;
        add(State::partly, "output", "PyTorch's debug printer is compiled in, and prints as well");
    }

    std::vector<Visible> take() { return std::move(found_); }

  private:
    /// Adds what is known of `known` kernels and ops.
    void add_share(const char* what, std::size_t known, const char* why_none) {
        const std::size_t all = facts_.kernels.size();
        if (known == 0) return add(State::no, what, why_none);
        if (known == all) return add(State::yes, what, "for every kernel and op");
        add(State::partly, what,
            "for " + std::to_string(known) + " of " + std::to_string(all) + " kernels and ops");
    }
    void add(State state, const char* what, std::string text) {
        found_.push_back({state, what, std::move(text)});
    }

    const InspectedModel& facts_;
    std::vector<Visible> found_;
};

}  // namespace

std::vector<Visible> visible_of(const InspectedModel& facts, const WrapperInfo& info) {
    VisibleReport report(facts);
    report.calls();
    report.arguments(info);
    report.lines();
    report.origins();
    report.input_checks();
    report.values();
    report.faults();
    report.printer();
    return report.take();
}

}  // namespace aoti_dbg::cli

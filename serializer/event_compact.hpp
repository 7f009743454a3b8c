// One aligned line a tensor, to be read at a glance: run and call, side, kernel, label, dtype and sizes,
// mean, standard deviation, minimum, maximum, and what is remarkable. Columns have fixed widths, so that
// lines of different calls stand under each other; names that are too long lose their middle. Computes
// nothing.
#pragma once

#include <cstdint>
#include <string>

#include "serializer/facts_cache.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// Not for several threads at once; facts are kept by their numbers, as in TextRenderer.
class CompactRenderer {
  public:
    /// `colour`: NaN and Inf in red, what was measured earlier dimmed. For terminals.
    explicit CompactRenderer(bool colour) : colour_(colour) {}

    /// Appends whole lines to `out`; now and then a line that names the columns.
    void render(const MeasuredCall& call, std::string& out);

  private:
    void render_argument(const MeasuredCall& call, const MeasuredArgument& argument, std::string& out);
    void render_part(const MeasuredArgument& argument, const RealStatistics& part, std::string& out) const;
    void begin_line(const MeasuredCall& call, std::string& out);
    const std::string& kernel_text(const MeasuredCall& call);
    const std::string& label_text(const ArgumentFacts& facts);
    const std::string& tensor_text(const TensorFacts& facts);
    void mark(const char* code, std::string& out) const;

    bool colour_;
    bool names_kernel_ = false;         // the line that is begun is the first of its call
    std::uint32_t lines_to_title_ = 0;  // until the columns are named again
    FactsCache<std::string> kernels_;   // by site
    FactsCache<std::string> labels_;
    FactsCache<std::string> tensors_;
};

}  // namespace aoti_dbg

// Renders one aligned line per tensor: run, call, side, kernel, label, dtype, sizes, mean, deviation,
// minimum, maximum and remarks. Columns have fixed widths, so lines of different calls align, and long names
// lose their middle. It must compute nothing.
#pragma once

#include <cstdint>
#include <string>

#include "serializer/facts_cache.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// Returns "f16[4,128]".
std::string short_text(const TensorFacts& facts);

/// Not thread-safe. It caches text by facts number, as TextRenderer does.
class CompactRenderer {
  public:
    /// `colour` prints NaN and Inf in red and dims earlier measurements. Use it for terminals.
    explicit CompactRenderer(bool colour) : colour_(colour) {}

    /// Appends whole lines to `out`, and from time to time a line with the column names.
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
    bool names_kernel_ = false;         // the current line is the first of its call
    std::uint32_t lines_to_title_ = 0;  // until the next line of column names
    FactsCache<std::string> kernels_;   // by site
    FactsCache<std::string> labels_;
    FactsCache<std::string> tensors_;
};

}  // namespace aoti_dbg

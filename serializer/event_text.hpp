// Renders the text of PyTorch's own debug printer, line for line. Extra lines give the standard deviation,
// NaN and Inf counts, why a tensor was not measured, or which earlier call measured it. It must compute
// nothing.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/compiled_function.hpp"
#include "serializer/facts_cache.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// Not thread-safe. It caches text by facts number, so it does not allocate in steady state. Facts with the
/// same number must not change.
class TextRenderer {
  public:
    /// Appends to `out`. It keeps no reference to the call, its facts or its values.
    void render(const MeasuredCall& call, std::string& out);

  private:
    struct SiteText {
        std::string before;  // "[  before_launch - kernel - "
        std::string after;
        std::string kernel;
    };
    struct TensorText {
        std::string head;  // number of elements, dtype
        std::string tail;  // device and what follows
    };
    const SiteText& text_of(const SiteFacts& facts);
    const std::string& text_of(const ArgumentFacts& facts);
    const TensorText& text_of(const TensorFacts& facts);
    void render_tensor(const MeasuredArgument& argument, std::string& out);

    FactsCache<SiteText> sites_;
    FactsCache<std::string> labels_;
    FactsCache<TensorText> tensors_;
};

/// Appends the line that introduces a model: "[ model 0: torch.compile 0/0 forward of Net.forward (net.py:3)
/// ]".
void append_model_text(std::uint32_t number, const CompiledFunction& function, std::string& out);

/// Appends the values as at::print does, and nothing for complex ones. `values` holds all elements in logical
/// order.
void append_values(const TensorFacts& tensor, std::span<const std::byte> values, std::string& out);

}  // namespace aoti_dbg

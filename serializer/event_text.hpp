// Renders the text of PyTorch's own debug printer, line for line. Extra lines give the standard deviation,
// NaN and Inf counts, why a tensor was not measured, or which earlier call measured it. It must compute
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/compiled_function.hpp"
#include "serializer/facts_cache.hpp"
#include "serializer/measured_event.hpp"
#include "serializer/statistics_text.hpp"

namespace aoti_dbg {

/// Not thread-safe. It caches text by facts number, so it does not allocate in steady state. Facts with the
/// same number must not change.
class TextRenderer {
  public:
    TextRenderer() : TextRenderer(std::make_shared<StatisticsTexts>()) {}
    /// Shares the digits of numbers with another renderer.
    explicit TextRenderer(std::shared_ptr<StatisticsTexts> texts) : texts_(std::move(texts)) {}

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
        bool may_have_values = false;
    };
    /// What an argument's text begins with on one side of its call.
    struct Start {
        const void* tensor = nullptr;  // its TensorText, null: not rendered yet
        const void* title = nullptr;   // where the title's text lies
        std::size_t title_size = 0;    // up to the values of the tensor
        std::string text;
    };
    struct ArgumentText {
        std::string label;
        Start before;  // and inputs
        Start after;
    };
    const SiteText& text_of(const SiteFacts& facts);
    ArgumentText& text_of(const ArgumentFacts& facts);
    const TensorText& text_of(const TensorFacts& facts);
    void render_tensor(const MeasuredArgument& argument, std::string_view title, Start& start,
                       std::string_view label, std::string& out);
    void append_statistics(const TensorStatistics& statistics, std::string& out);

    std::shared_ptr<StatisticsTexts> texts_;
    FactsCache<SiteText> sites_;
    FactsCache<ArgumentText> arguments_;
    FactsCache<TensorText> tensors_;
};

/// Appends the line that introduces a model: "[ model 0: torch.compile 0/0 forward of Net.forward (net.py:3)
/// ]".
void append_model_text(std::uint32_t number, const CompiledFunction& function, std::string& out);

/// Appends the values as at::print does, and nothing for complex ones. `values` holds all elements in logical
/// order.
void append_values(const TensorFacts& tensor, std::span<const std::byte> values, std::string& out);

}  // namespace aoti_dbg

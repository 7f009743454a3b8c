// The text of PyTorch's own debug printer, line for line, with lines of ours besides: the standard deviation;
// how many NaN and Inf there are, where there are any; why something was not measured, or by which call
// before. Computes nothing.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "serializer/facts_cache.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// Not for several threads at once. What facts come to is kept by their numbers, so that in steady state
/// nothing is allocated; what facts of one number hold must not change.
class TextRenderer {
  public:
    /// Appends to `out`. The call, its facts and values are not needed afterwards.
    void render(const MeasuredCall& call, std::string& out);

  private:
    struct SiteText {
        std::string before;  // "[  before_launch - kernel - "
        std::string after;
        std::string kernel;
    };
    struct TensorText {
        std::string head;  // number of elements, dtype
        std::string tail;  // device and what comes after
    };
    const SiteText& text_of(const SiteFacts& facts);
    const std::string& text_of(const ArgumentFacts& facts);
    const TensorText& text_of(const TensorFacts& facts);
    void render_tensor(const MeasuredArgument& argument, std::string& out);

    FactsCache<SiteText> sites_;
    FactsCache<std::string> labels_;
    FactsCache<TensorText> tensors_;
};

/// The values as at::print writes them; nothing for complex ones. `values` holds all elements, in logical
/// order.
void append_values(const TensorFacts& tensor, std::span<const std::byte> values, std::string& out);

}  // namespace aoti_dbg

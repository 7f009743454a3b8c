// Calls with measured tensors, built by hand, for tests of rendering and reading back.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "serializer/measured_event.hpp"
#include "stats_kernels/cpu_statistics.hpp"

namespace aoti_dbg::test {

/// A tensor with its elements and the facts that a call has about it.
class HeldTensor {
  public:
    template <typename Element>
    HeldTensor(DType dtype, std::vector<std::int64_t> sizes, const std::vector<Element>& elements)
        : bytes_(elements.size() * sizeof(Element)) {
        facts.dtype = dtype_name(dtype);
        facts.measured_dtype = dtype;
        facts.device = "cpu";
        facts.sizes = std::move(sizes);
        facts.strides.assign(facts.sizes.size(), 1);
        for (std::size_t i = facts.sizes.size(); i-- > 1;)
            facts.strides[i - 1] = facts.strides[i] * facts.sizes[i];
        facts.storage_bytes = static_cast<std::int64_t>(bytes_.size());
        if (!bytes_.empty()) std::memcpy(bytes_.data(), elements.data(), bytes_.size());
    }
    HeldTensor(const HeldTensor&) = delete;
    HeldTensor& operator=(const HeldTensor&) = delete;

    [[nodiscard]] MeasuredArgument measured(const ArgumentFacts& argument,
                                            Requested requested = Requested::printed) const {
        MeasuredArgument result;
        result.facts = &argument;
        result.tensor = &facts;
        result.measured = Measured::now;
        result.statistics =
            measure({bytes_.data(), facts.measured_dtype, facts.sizes, facts.strides}, requested);
        if (element_count(facts.sizes) <= kMostPrintedValues) result.values = bytes_;
        return result;
    }
    [[nodiscard]] MeasuredArgument unmeasured(const ArgumentFacts& argument, const char* why) const {
        MeasuredArgument result;
        result.facts = &argument;
        result.tensor = &facts;
        result.why_not = why;
        return result;
    }

    TensorFacts facts;

  private:
    std::vector<std::byte> bytes_;
};

inline SiteFacts site_of(std::string kernel) {
    SiteFacts facts;
    facts.kernel = std::move(kernel);
    return facts;
}

inline ArgumentFacts label_of(std::string label) {
    ArgumentFacts facts;
    facts.label = std::move(label);
    return facts;
}

inline MeasuredArgument scalar_of(const ArgumentFacts& facts, std::string_view value) {
    MeasuredArgument result;
    result.facts = &facts;
    result.scalar = value;
    return result;
}

inline MeasuredCall call_of(EventSide side, const SiteFacts* site,
                            const std::vector<MeasuredArgument>& arguments) {
    MeasuredCall call;
    call.side = side;
    call.site = site;
    call.run = 3;
    call.call = 12;
    call.arguments = arguments;
    return call;
}

}  // namespace aoti_dbg::test

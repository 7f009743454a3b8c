// Invented measured calls for the tests of findings: tensors are small, on the CPU, and measured by the real
// statistics.
#pragma once

#include <deque>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "serializer/measured_event.hpp"
#include "shim/findings/findings.hpp"
#include "stats_kernels/cpu_statistics.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

/// Owns everything that calls point to.
class Script {
  public:
    struct Buffer {
        std::vector<float> values;
        const TensorFacts* facts;
    };
    /// An argument of a test. Its contents are read when a side is created.
    struct Given {
        const ArgumentFacts* facts;
        const Buffer* buffer;  // null: a scalar
        std::string scalar;
        Measured measured = Measured::now;
    };

    /// The statistics that exist.
    Requested requested = Requested::printed | Requested::indices | Requested::hash;
    bool with_values = true;

    Buffer& buffer(std::vector<float> values, std::vector<std::int64_t> sizes = {}) {
        TensorFacts& facts = tensors_.emplace_back();
        if (sizes.empty()) sizes = {static_cast<std::int64_t>(values.size())};
        facts.dtype = "float32";
        facts.device = "cpu";
        facts.sizes = std::move(sizes);
        facts.strides.resize(facts.sizes.size());
        std::int64_t stride = 1;
        for (std::size_t i = facts.sizes.size(); i-- > 0; stride *= facts.sizes[i])
            facts.strides[i] = stride;
        return buffers_.emplace_back(Buffer{std::move(values), &facts});
    }
    const ArgumentFacts* name(const std::string& label, Role role, const std::string& fqn = {}) {
        ArgumentFacts& facts = arguments_.emplace_back();
        facts.label = label;
        facts.original_fqn = fqn;
        facts.role = role;
        return &facts;
    }
    SiteFacts& site(const std::string& kernel, std::vector<std::string> aten = {}) {
        SiteFacts& facts = sites_.emplace_back();
        facts.kernel = kernel;
        facts.original_aten = std::move(aten);
        facts.site = static_cast<std::uint32_t>(sites_.size() - 1);
        return facts;
    }

    /// Valid until the next one is created.
    MeasuredCall side(EventSide side, const SiteFacts* site, std::uint64_t sequence,
                      const std::vector<Given>& given) {
        made_.clear();
        for (const Given& each : given)
            made_.push_back(argument(each));
        MeasuredCall call;
        call.side = side;
        call.site = site;
        call.sequence = sequence;
        call.model = 0;
        call.run = run;
        call.call = static_cast<std::uint32_t>(sequence);
        call.arguments = made_;
        return call;
    }

    std::uint32_t run = 0;

  private:
    MeasuredArgument argument(const Given& given) const {
        MeasuredArgument result;
        result.facts = given.facts;
        if (given.buffer == nullptr) {
            result.scalar = given.scalar;
            return result;
        }
        const Buffer& buffer = *given.buffer;
        result.tensor = buffer.facts;
        result.address = reinterpret_cast<std::uintptr_t>(buffer.values.data());
        result.measured = given.measured;
        if (given.measured == Measured::no) result.why_not = "the stream is capturing";
        if (given.measured != Measured::now && given.measured != Measured::earlier) return result;
        result.statistics = measure(
            {buffer.values.data(), DType::float32, buffer.facts->sizes, buffer.facts->strides}, requested);
        if (with_values) result.values = std::as_bytes(std::span(buffer.values));
        return result;
    }

    std::deque<Buffer> buffers_;
    std::deque<TensorFacts> tensors_;
    std::deque<ArgumentFacts> arguments_;
    std::deque<SiteFacts> sites_;
    std::vector<MeasuredArgument> made_;
};

using Given = std::vector<Script::Given>;

inline Suppressions known(const std::string& list) {
    Suppressions suppressions;
    REQUIRE(suppressions.add_list(list).ok());
    return suppressions;
}

/// The findings of invented calls.
struct Watch {
    explicit Watch(const std::string& suppress = {}) : findings(known(suppress)) {}

    Script script;
    Findings findings;
    Check check{true, true};
    std::vector<Finding> fresh;
    std::uint64_t sequence = 0;

    bool take(EventSide side, const SiteFacts* site, std::uint64_t number, const Given& given) {
        return findings.take(script.side(side, site, number, given), check, fresh);
    }
    /// A whole call, which does `work` between its sides. Created tensors exist only afterwards.
    template <typename Work>
    bool call(const SiteFacts& site, const Given& given, const Work& work) {
        const std::uint64_t number = ++sequence;
        Given before;
        for (const Script::Given& each : given)
            if (each.facts->role != Role::makes) before.push_back(each);
        take(EventSide::before, &site, number, before);
        work();
        return take(EventSide::after, &site, number, given);
    }
    std::uint64_t followers() const { return findings.counts().followers; }
};

}  // namespace aoti_dbg::test

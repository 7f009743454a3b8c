// The events of a run that resembles a transformer's: 130 sides of calls with 4 arguments, and statistics
// that differ from run to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "serializer/measured_event.hpp"

namespace bench {

using namespace aoti_dbg;

inline constexpr int kSides = 130;
inline constexpr int kArguments = 4;

/// xorshift64*.
class Random {
  public:
    double real() {
        state_ ^= state_ >> 12U;
        state_ ^= state_ << 25U;
        state_ ^= state_ >> 27U;
        return static_cast<double>(static_cast<std::int64_t>(state_ * 0x2545F4914F6CDD1DULL)) * 0x1p-61;
    }
    std::uint64_t bits() { return __builtin_bit_cast(std::uint64_t, real()); }

  private:
    std::uint64_t state_ = 0x9E3779B97F4A7C15ULL;
};

/// One run of a model.
class Run {
  public:
    Run() {
        for (int side = 0; side < kSides; ++side) {
            SiteFacts& site = sites_.emplace_back();
            site.kernel = "triton_per_fused_add_native_layer_norm_" + std::to_string(side / 2);
            for (int i = 0; i < kArguments; ++i) {
                ArgumentFacts& facts = labels_.emplace_back();
                facts.label = "buf" + std::to_string(side * kArguments + i);
                TensorFacts& tensor = tensors_.emplace_back();
                tensor.dtype = "float16";
                tensor.measured_dtype = DType::float16;
                tensor.device = "cuda:0";
                tensor.sizes = {4, 128, 512};
                tensor.strides = {65536, 512, 1};
            }
        }
        arguments_.resize(labels_.size());
    }

    /// Makes the calls of later runs as level 2 records them by default: two inputs, an output and a scalar,
    /// without indices and hashes.
    void measure_printed() {
        is_printed_ = true;
        for (std::size_t i = 0; i < labels_.size(); ++i)
            labels_[i].role = i % kArguments == 2 ? Role::writes : Role::reads;
    }

    template <typename Render>
    void render(Render render) {
        ++number_;
        for (std::size_t i = 0; i < arguments_.size(); ++i)
            measure(i);
        for (std::size_t side = 0; side < kSides; ++side) {
            MeasuredCall call;
            call.side = side % 2 == 0 ? EventSide::before : EventSide::after;
            call.site = &sites_[side];
            call.sequence = number_ * kSides + side;
            call.time_ns = 1'790'000'000'000'000'000U + call.sequence * 6000;
            call.thread = 12345;
            call.model = 0;
            call.run = number_;
            call.call = static_cast<std::uint32_t>(side / 2);
            call.arguments = {&arguments_[side * kArguments], kArguments};
            render(call);
        }
    }

  private:
    void measure(std::size_t i) {
        MeasuredArgument& argument = arguments_[i];
        argument.facts = &labels_[i];
        argument.tensor = is_printed_ && i % kArguments == 3 ? nullptr : &tensors_[i];
        argument.scalar = "262144";
        argument.address = 0x7f0000000000U + i * 4096;
        argument.measured = is_printed_ && i % kArguments < 2 ? Measured::earlier : Measured::now;
        argument.measured_at = 3;
        TensorStatistics& statistics = argument.statistics;
        statistics.dtype = DType::float16;
        statistics.requested = Requested::printed | Requested::indices | Requested::hash;
        statistics.count = std::uint64_t{4} * 128 * 512;
        statistics.hash = random_.bits();
        RealStatistics& real = statistics.real;
        real.all.mean = random_.real() * 0.01;
        real.all.standard_deviation = random_.real() + 2;
        real.all.minimum.floating = static_cast<double>(static_cast<float>(random_.real() - 4));
        real.all.maximum.floating = static_cast<double>(static_cast<float>(random_.real() + 4));
        if (is_printed_) {
            statistics.requested = Requested::printed;
            real.zeros = random_.bits() % 100;
            return;
        }
        real.minimum_index = random_.bits() % statistics.count;
        real.maximum_index = random_.bits() % statistics.count;
    }

    std::deque<SiteFacts> sites_;
    std::deque<ArgumentFacts> labels_;
    std::deque<TensorFacts> tensors_;
    std::vector<MeasuredArgument> arguments_;
    std::uint32_t number_ = 0;
    bool is_printed_ = false;
    Random random_;
};

}  // namespace bench

// What launching threads have seen and nobody has written out yet, in the order in which they saw it. Any
// number of threads put in, one takes out. Bounded; nothing is allocated in steady state.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/cache_line.hpp"
#include "config/options.hpp"
#include "serializer/measured_event.hpp"
#include "shim/measure/stream_point.hpp"
#include "shim/tensors/arguments.hpp"
#include "shim/tensors/tensor_reader.hpp"

namespace aoti_dbg {

/// What was measured by the host, at once.
struct MeasuredOnHost {
    TensorStatistics statistics;
    std::vector<std::byte> values;
};

/// Why a tensor that could be measured is not; see text_of().
enum class WhyNot : std::uint8_t { facts, no_memory, no_context, other_device, no_room };
const char* text_of(WhyNot why);

struct SeenArgument {
    const ArgumentFacts* facts = nullptr;
    const SeenFacts* tensor = nullptr;  // null: a scalar
    std::uint64_t address = 0;
    std::unique_ptr<MeasuredOnHost> on_host;
    Measurement measurement;   // of the device, where there is a Gpu and no `on_host`
    std::uint32_t scalar = 0;  // which of the call's
    Measured measured = Measured::no;
    WhyNot why_not = WhyNot::facts;
    Wanted wanted = Wanted::nothing;
};
// One thread writes them, another one reads them: each is a line of a cache that goes from here to there.
static_assert(sizeof(SeenArgument) == 64);

/// Of a call.
struct SeenArguments {
    std::vector<SeenArgument> list;
    std::vector<ShortText> scalars;
    void clear() {
        list.clear();
        scalars.clear();
    }
};

struct SeenCall {
    MeasuredCall call;  // its arguments are elsewhere
    bool printed = false;
    Check check;
    StreamPoint* point = nullptr;  // where its tensors are measured
    Gpu* gpu = nullptr;            // that results come from
    std::uint64_t mark = 0;        // of its ring
};

class EventQueue {
  public:
    /// False where there is no room: nothing was taken. Else `arguments` are moved out.
    bool put(const SeenCall& call, SeenArguments& arguments);

    struct Taken {
        const SeenCall* call = nullptr;  // null: there is nothing
        std::span<const SeenArgument> arguments;
        std::span<const ShortText> scalars;
    };
    /// What it gives is good until it is asked again.
    Taken take();
    /// What take() will give, if it is at hand.
    [[nodiscard]] Taken peek() const;

    /// How many calls may wait in it, at most.
    static constexpr std::size_t kMostCalls = 8192;  // of a batch
    static constexpr std::size_t kMostWaiting = 2 * kMostCalls;

    [[nodiscard]] std::uint64_t puts() const { return puts_.load(std::memory_order_acquire); }

  private:
    static constexpr std::size_t kMostArguments = 65536;  // of a batch
    struct Entry {
        SeenCall call;
        std::uint32_t arguments = 0;
        std::uint32_t scalars = 0;
    };
    struct Batch {
        std::vector<Entry> calls;
        std::vector<SeenArgument> arguments;
        std::vector<ShortText> scalars;
    };

    // One batch may be on its way out while the other fills.
    std::mutex mutex_;
    Batch coming_;
    std::atomic<std::uint64_t> puts_{0};
    // Of who takes: a whole batch at a time, so that the two sides meet seldom and memory is used again soon.
    alignas(kCacheLine) Batch going_;
    std::size_t next_call_ = 0;
    std::size_t next_argument_ = 0;
    std::size_t next_scalar_ = 0;
};

}  // namespace aoti_dbg

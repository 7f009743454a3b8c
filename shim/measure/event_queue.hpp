// The queue of calls that launching threads saw and that are not written yet, in order of arrival. Many
// threads put, one thread takes. It is bounded and must not allocate in steady state.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <vector>

#include "base/cache_line.hpp"
#include "base/plain_list.hpp"
#include "config/options.hpp"
#include "serializer/measured_event.hpp"
#include "shim/measure/stream_point.hpp"
#include "shim/tensors/arguments.hpp"
#include "shim/tensors/tensor_reader.hpp"

namespace aoti_dbg {

/// A result that the host measured immediately.
struct MeasuredOnHost {
    TensorStatistics statistics;
    std::vector<std::byte> values;
};

/// The reason why a measurable tensor is not measured; see text_of().
enum class WhyNot : std::uint8_t { facts, no_memory, no_context, other_device, no_room };
const char* text_of(WhyNot why);

/// Where the value of a scalar is: a number is in the argument, and a text is among the call's texts.
enum class ScalarKind : std::uint8_t { text, integer, natural, real };

struct SeenArgument {
    const ArgumentFacts* facts = nullptr;
    const SeenFacts* tensor = nullptr;  // null for a scalar
    union {
        std::uint64_t address = 0;
        std::uint64_t number;  // the bits of a scalar that is a number
    };
    const MeasuredOnHost* on_host = nullptr;  // belongs to the arguments of the call
    Measurement measurement;                  // on the device, if there is a Gpu and no `on_host`
    std::uint32_t text = 0;                   // index among the call's texts
    ScalarKind scalar = ScalarKind::text;
    Measured measured = Measured::no;
    WhyNot why_not = WhyNot::facts;
    Requested requested = Requested::nothing;
};
// One thread writes an argument and another one reads it, so it fills exactly one cache line.
static_assert(sizeof(SeenArgument) == 64 && std::is_trivially_copyable_v<SeenArgument>);

/// The arguments of one call.
struct SeenArguments {
    PlainList<SeenArgument> list;
    PlainList<ShortText> texts;
    std::vector<std::unique_ptr<MeasuredOnHost>> on_host;
    void clear() {
        list.clear();
        texts.clear();
        on_host.clear();
    }
    void add_scalar(const ArgumentFacts& facts, const ScalarValue& value);
};

/// Returns the text of a scalar.
ShortText text_of(const SeenArgument& scalar, std::span<const ShortText> texts);

struct SeenCall {
    MeasuredCall call;  // without its arguments
    bool printed = false;
    Check check;
    // The first arguments are those before the call, and the rest are those after it. Only for checks of
    // values.
    std::uint32_t before = 0;
    bool has_both_sides = false;
    std::uint32_t arguments = 0;   // set by the queue
    std::uint32_t texts = 0;       // set by the queue
    StreamPoint* point = nullptr;  // where its tensors are measured
    Gpu* gpu = nullptr;            // the source of its results
    std::uint64_t mark = 0;        // of its ring
};

class EventQueue {
  public:
    /// Moves `arguments` into the queue. Returns false and takes nothing if the queue is full.
    bool put(const SeenCall& call, SeenArguments& arguments);

    struct Taken {
        const SeenCall* call = nullptr;  // null if the queue is empty
        std::span<const SeenArgument> arguments;
        std::span<const ShortText> texts;
    };
    /// The result is valid until the next call of take().
    Taken take();
    /// Returns what take() will return, if it is already in the outgoing batch.
    [[nodiscard]] Taken peek() const;

    /// The maximum number of calls that can wait in the queue.
    static constexpr std::size_t kMostCalls = 8192;  // per batch
    static constexpr std::size_t kMostWaiting = 2 * kMostCalls;

    [[nodiscard]] std::uint64_t puts() const { return puts_.load(std::memory_order_acquire); }

  private:
    static constexpr std::size_t kMostArguments = 65536;  // per batch
    struct Batch {
        PlainList<SeenCall> calls;
        SeenArguments arguments;  // of all calls
    };

    // One batch can go out while the other one fills.
    std::mutex mutex_;
    Batch coming_;
    std::atomic<std::uint64_t> puts_{0};
    // Belongs to the thread that takes. A whole batch moves at a time, so the two sides rarely meet and
    // memory is reused soon.
    alignas(kCacheLine) Batch going_;
    std::size_t next_call_ = 0;
    std::size_t next_argument_ = 0;
    std::size_t next_text_ = 0;
};

}  // namespace aoti_dbg

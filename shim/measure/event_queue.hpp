// The queue of calls that launching threads saw and that are not written yet, in order of arrival. Many
// threads put, one thread takes, and another one may follow it. It is bounded and must not allocate in steady
// state.
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

/// A result that the host measured immediately.
struct MeasuredOnHost {
    TensorStatistics statistics;
    std::vector<std::byte> values;
};

/// The reason why a measurable tensor is not measured; see text_of().
enum class WhyNot : std::uint8_t { facts, no_memory, no_context, other_device, no_room };
const char* text_of(WhyNot why);

struct SeenArgument {
    const ArgumentFacts* facts = nullptr;
    const SeenFacts* tensor = nullptr;  // null for a scalar
    std::uint64_t address = 0;
    std::unique_ptr<MeasuredOnHost> on_host;
    Measurement measurement;   // on the device, if there is a Gpu and no `on_host`
    std::uint32_t scalar = 0;  // index among the call's scalars
    Measured measured = Measured::no;
    WhyNot why_not = WhyNot::facts;
    Requested requested = Requested::nothing;
};
// One thread writes an argument and another one reads it, so it fills exactly one cache line.
static_assert(sizeof(SeenArgument) == 64);

/// The arguments of one call.
struct SeenArguments {
    std::vector<SeenArgument> list;
    std::vector<ShortText> scalars;
    void clear() {
        list.clear();
        scalars.clear();
    }
};

struct SeenCall {
    MeasuredCall call;  // without its arguments
    bool printed = false;
    Check check;
    // The first arguments are those before the call, and the rest are those after it. Only for checks of
    // values.
    std::uint32_t before = 0;
    bool has_both_sides = false;
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
        std::span<const ShortText> scalars;
    };
    /// The result is valid until take() is called while left() is 0. That begins the next batch.
    Taken take();
    /// Returns what take() will return, if it is already in the outgoing batch.
    [[nodiscard]] Taken peek() const { return at(next_); }
    /// Returns the number of calls in the outgoing batch that take() has not returned yet.
    [[nodiscard]] std::size_t left() const { return going_.calls.size() - next_.call; }
    /// Returns the calls of the outgoing batch again, for a second thread. It must not overtake take().
    Taken follow();

    /// The maximum number of calls that can wait in the queue.
    static constexpr std::size_t kMostCalls = 8192;  // per batch
    static constexpr std::size_t kMostWaiting = 2 * kMostCalls;

    [[nodiscard]] std::uint64_t puts() const { return puts_.load(std::memory_order_acquire); }

  private:
    static constexpr std::size_t kMostArguments = 65536;  // per batch
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

    /// A place in the outgoing batch.
    struct Cursor {
        std::size_t call = 0;
        std::size_t argument = 0;
        std::size_t scalar = 0;
    };
    [[nodiscard]] Taken at(const Cursor& cursor) const;
    Taken pass(Cursor& cursor) const;

    // One batch can go out while the other one fills.
    std::mutex mutex_;
    Batch coming_;
    std::atomic<std::uint64_t> puts_{0};
    // Belongs to the thread that takes. A whole batch moves at a time, so the two sides rarely meet and
    // memory is reused soon.
    alignas(kCacheLine) Batch going_;
    Cursor next_;
    alignas(kCacheLine) Cursor followed_;
};

}  // namespace aoti_dbg

// Knows which GPU work is ordered, and which call accessed which memory. Two unordered calls are a race if
// one writes what the other accesses. It must see all work in the order in which the driver received it.
// Each stream has a clock: its own time, and the time up to which it is ordered after each other stream.
// Events carry clocks to other streams and to the host, whose threads count as one. Anything uncertain counts
// as ordered.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace aoti_dbg {

struct ArgumentFacts;
struct SiteFacts;

/// The source of an access: an argument of a model's call, or an action of the program.
struct Toucher {
    const char* function = nullptr;  // of the driver; null for a call of a model
    const SiteFacts* site = nullptr;
    const ArgumentFacts* argument = nullptr;
    std::uint32_t model = ~0U;
    std::uint32_t run = ~0U;
    std::uint32_t call = ~0U;
    std::uint64_t sequence = 0;
    std::uint64_t stream = 0;  // as the program names it
    std::uint64_t thread = 0;  // of a call
    [[nodiscard]] bool is_call() const { return function == nullptr; }
};

class StreamOrder {
  public:
    using Stream = std::uint32_t;
    using Event = std::uint64_t;

    enum class Kind : std::uint8_t {
        legacy,    // ordered with all blocking streams of its context
        blocking,  // or the own stream of a thread
        free,      // created with CU_STREAM_NON_BLOCKING
    };
    Stream add_stream(Kind kind, std::uint64_t context);
    /// Reuses the number of a destroyed stream. The new stream stays ordered after the work of the old one.
    void make_anew(Stream stream, Kind kind, std::uint64_t context);
    [[nodiscard]] std::size_t streams() const { return streams_.size(); }

    /// Call this before work is enqueued on a stream.
    void begin(Stream stream);
    void record(Event event, Stream stream);
    /// Makes one event, or all events, unknown. A wait for an unknown event counts as a wait for all work.
    void forget(Event event) { events_.erase(event); }
    void forget_events() { events_.clear(); }
    void wait_for(Stream stream, Event event);
    /// The stream waits for something unknown.
    void wait_for_all(Stream stream);

    /// The host has waited, or knows that it need not wait.
    void host_waited(Event event);
    void host_waited_for(Stream stream);
    void host_waited_for_all();

    enum class Use : std::uint8_t {
        reads,
        may_write,  // unknown; counts as a read
        writes,
    };
    struct Touch {
        std::uint64_t address = 0;
        std::uint64_t bytes = 0;
        Use use = Use::reads;
    };
    /// An earlier access to the same memory that is not ordered with this one.
    struct Conflict {
        Toucher earlier;
        Use earlier_use = Use::reads;
    };
    /// Records that the work of the last begin() on `stream` accesses memory, and returns one of its
    /// conflicts. If an access may have overwritten the conflicting write, that access is returned.
    std::optional<Conflict> touch(Stream stream, const Touch& touch, const Toucher& who);
    /// Forgets memory, because its previous and next owners are unrelated.
    void forget_memory(std::uint64_t address, std::uint64_t bytes);

  private:
    using Time = std::uint64_t;
    using Clock = std::vector<Time>;  // by stream; missing entries are 0

    struct Access {
        Stream stream = 0;
        Time time = 0;
        Use use = Use::reads;
        Toucher who;
    };
    /// A range of memory that was accessed as a whole.
    struct Part {
        std::uint64_t end = 0;
        std::optional<Access> write;
        std::vector<Access> reads;  // since the write
    };
    using Parts = std::map<std::uint64_t, Part>;  // by their start; they do not overlap

    struct StreamState {
        Kind kind = Kind::free;
        std::uint64_t context = 0;
        Clock clock;
        std::uint64_t host_seen = 0;
    };

    // Only a program that keeps creating new ones exceeds this.
    static constexpr std::size_t kMostEvents = 1U << 16U;
    static constexpr std::size_t kMostParts = 1U << 16U;

    static void join(Clock& clock, const Clock& other);
    [[nodiscard]] bool is_behind(Stream stream, const Access& access) const;
    void join_all(Clock& clock) const;
    void split_at(std::uint64_t address);
    void note_read(Part& part, const Access& read) const;
    [[nodiscard]] const Access& last_writer(const Part& part) const;

    std::vector<StreamState> streams_;
    Clock host_;
    std::uint64_t host_changes_ = 0;
    std::unordered_map<Event, Clock> events_;
    Parts parts_;
};

}  // namespace aoti_dbg

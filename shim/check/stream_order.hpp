// What of a GPU's work is ordered with what, and who read and wrote which memory: two calls of which one
// writes what the other touches, and which nothing orders, are a race. Pure; told of everything in the order
// in which it was given to the driver.
//
// Each stream has a clock, with the time of its own and, for each other stream, up to when it is known to be
// behind that one. Events carry clocks from one stream to the other, and to the host; all threads of the host
// count as one. Whatever is not seen for certain counts as ordered.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace aoti_dbg {

struct ArgumentFacts;
struct SiteFacts;

/// Who reads or writes: an argument of a call of a model's, or something that the program does.
struct Toucher {
    const char* function = nullptr;  // of the driver; null: a call of a model's
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
        legacy,    // waits for all blocking ones of its context, and these for it
        blocking,  // also each thread's own
        free,      // made with CU_STREAM_NON_BLOCKING
    };
    Stream add_stream(Kind kind, std::uint64_t context);
    /// One that has gone is another from here on; it stays behind what the first one did.
    void make_anew(Stream stream, Kind kind, std::uint64_t context);
    [[nodiscard]] std::size_t streams() const { return streams_.size(); }

    /// Work is about to be given to a stream.
    void begin(Stream stream);
    void record(Event event, Stream stream);
    /// It stands for something of which nothing is known; all of them do.
    void forget(Event event) { events_.erase(event); }
    void forget_events() { events_.clear(); }
    void wait_for(Stream stream, Event event);
    /// It waits for something of which nothing is known.
    void wait_for_all(Stream stream);

    /// The host has waited, or was told that it need not.
    void host_waited(Event event);
    void host_waited_for(Stream stream);
    void host_waited_for_all();

    enum class Use : std::uint8_t {
        reads,
        may_write,  // nobody knows: counts as a read
        writes,
    };
    struct Touch {
        std::uint64_t address = 0;
        std::uint64_t bytes = 0;
        Use use = Use::reads;
    };
    /// Who has touched the same before, with nothing in between that orders it with this.
    struct Conflict {
        Toucher earlier;
        Use earlier_use = Use::reads;
    };
    /// The work that begin() was called for last on `stream` touches memory. Of several conflicts one; of a
    /// write and what may have written over it the latter.
    std::optional<Conflict> touch(Stream stream, const Touch& touch, const Toucher& who);
    /// Who had it has no more to do with who gets it.
    void forget_memory(std::uint64_t address, std::uint64_t bytes);

  private:
    using Time = std::uint64_t;
    using Clock = std::vector<Time>;  // by stream; shorter: 0 from there on

    struct Access {
        Stream stream = 0;
        Time time = 0;
        Use use = Use::reads;
        Toucher who;
    };
    /// A part of memory that was touched as a whole.
    struct Part {
        std::uint64_t end = 0;
        std::optional<Access> write;
        std::vector<Access> reads;  // since
    };
    using Parts = std::map<std::uint64_t, Part>;  // by their begin; they do not overlap

    struct StreamState {
        Kind kind = Kind::free;
        std::uint64_t context = 0;
        Clock clock;
        std::uint64_t host_seen = 0;
    };

    // More would be those of a program that makes them anew all the time.
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

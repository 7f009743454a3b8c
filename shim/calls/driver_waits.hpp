// Driver calls that wait for the device or query it. They go into the flight recorder ring, which then shows
// waits that did not return. Waits that returned show what has finished on the device. The only driver query
// here asks for a context. Runs only if crashes or hangs are recorded (Options::records_all), and otherwise
// costs one load.
#pragma once

#include <atomic>
#include <cstdint>

#include "serializer/flight_ring_format.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {

struct Name;
struct ThreadState;

/// The name of a hooked function without the suffixes of its versions and twins. It is looked up once.
class WaitName {
  public:
    explicit constexpr WaitName(const char* exported) : exported_(exported) {}
    /// Throws if memory runs out.
    const Name* get();

  private:
    const char* exported_;
    std::atomic<const Name*> name_{nullptr};
};

/// What a call waits for.
struct Awaited {
    std::uint64_t stream = 0;  // in records, the legacy stream also represents the whole context
    std::uint64_t event = 0;   // 0: none; else `stream` is where it was last recorded, if known
    bool is_all = false;       // the whole context
    void* context = nullptr;   // for is_all; null: the thread's context
    bool is_anywhere = false;  // the context is unknown
    bool is_perhaps = false;   // the call may return before the work is done
};
inline Awaited of_stream(const void* stream) {
    return {reinterpret_cast<std::uintptr_t>(stream)};
}
inline Awaited of_event(const void* event) {
    return {0, reinterpret_cast<std::uintptr_t>(event)};
}
inline Awaited of_all(void* context = nullptr) {
    Awaited all;
    all.is_all = true;
    all.context = context;
    return all;
}
/// Means the device of the memory at an address, which is unknown here.
inline Awaited of_memory() {
    Awaited all = of_all();
    all.is_anywhere = true;
    return all;
}

/// Records one waiting call from here to end().
class Wait {
  public:
    Wait(WaitName& name, Awaited awaited) {
        if (g_recording_waits) [[unlikely]]
            begin(name, awaited);
    }
    template <typename Result>
    Result end(Result result) {
        const bool has_failed = static_cast<std::int32_t>(result) != 0;
        if (record_ != nullptr || (g_recording_waits && has_failed)) [[unlikely]]
            end_record(static_cast<std::int32_t>(result));
        return result;
    }

  private:
    void begin(WaitName& name, Awaited awaited);
    void end_record(std::int32_t result);

    [[maybe_unused]] ThreadState* state_ = nullptr;
    ring::Record* record_ = nullptr;
    [[maybe_unused]] std::uint64_t seq_ = 0;
};

void note_event_recorded(std::uint64_t event, std::uint64_t stream);
void note_answer(WaitName& name, Awaited awaited, std::int32_t result);

/// Call this when `event` is about to be recorded on `stream`.
inline void note_event(const void* event, const void* stream) {
    if (g_recording_waits) [[unlikely]]
        note_event_recorded(reinterpret_cast<std::uintptr_t>(event),
                            reinterpret_cast<std::uintptr_t>(stream));
}

/// Records the answer to a query of the device's progress.
template <typename Result>
Result answered(WaitName& name, Awaited awaited, Result result) {
    if (g_recording_waits) [[unlikely]]
        note_answer(name, awaited, static_cast<std::int32_t>(result));
    return result;
}

}  // namespace aoti_dbg

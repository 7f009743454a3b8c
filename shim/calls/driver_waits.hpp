// Calls of the driver that wait for the device, and questions to it: put into the flight ring, so that it is
// known which did not come back and, from those that did, what has ended on the device. The driver is asked
// for nothing but whose context it is. Done where crashes or hangs are looked for (Options::records_all),
// else a load.
#pragma once

#include <atomic>
#include <cstdint>

#include "serializer/flight_ring_format.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {

struct Name;
struct ThreadState;

/// The name of a hooked function without what its versions and twins end in; found once.
class WaitName {
  public:
    explicit constexpr WaitName(const char* exported) : exported_(exported) {}
    /// Throws without memory.
    const Name* get();

  private:
    const char* exported_;
    std::atomic<const Name*> name_{nullptr};
};

/// What a call waits for.
struct Awaited {
    std::uint64_t stream = 0;  // the legacy stream also stands for the context, in records
    std::uint64_t event = 0;   // 0: none; then the stream is where it was recorded last, as far as is known
    bool is_all = false;       // the whole context
    void* context = nullptr;   // that one; null: the thread's
    bool is_anywhere = false;  // it is not known which
    bool is_perhaps = false;   // it may come back before
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
/// The device that the memory at the address is on, whichever that is.
inline Awaited of_memory() {
    Awaited all = of_all();
    all.is_anywhere = true;
    return all;
}

/// One call that waits, from here to end().
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

/// An event is about to be recorded there.
inline void note_event(const void* event, const void* stream) {
    if (g_recording_waits) [[unlikely]]
        note_event_recorded(reinterpret_cast<std::uintptr_t>(event),
                            reinterpret_cast<std::uintptr_t>(stream));
}

/// The device was asked how far it is, and has answered.
template <typename Result>
Result answered(WaitName& name, Awaited awaited, Result result) {
    if (g_recording_waits) [[unlikely]]
        note_answer(name, awaited, static_cast<std::int32_t>(result));
    return result;
}

}  // namespace aoti_dbg

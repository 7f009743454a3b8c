#include "shim/check/races.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/errno_keeper.hpp"
#include "base/message.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/check/race_report.hpp"
#include "shim/check/stream_order.hpp"
#include "shim/runtime/driver_api.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/stream_key.hpp"
#include "shim/tensors/call_tensors.hpp"
#include "shim/tensors/measured_model.hpp"

namespace aoti_dbg {

/// All known device work of a process. Guarded by races_mutex.
class RaceWatch {
  public:
    StreamOrder order;
    bool is_over = false;  // the check stopped, because it no longer knows enough

    [[nodiscard]] std::optional<StreamOrder::Stream> find(const StreamKey& key) const {
        for (std::size_t i = 0; i < streams_.size(); ++i) {
            if (streams_[i] == key) return static_cast<StreamOrder::Stream>(i);
        }
        return std::nullopt;
    }
    /// Returns nothing if there are too many streams.
    std::optional<StreamOrder::Stream> add(const StreamKey& key, StreamOrder::Kind kind, CUcontext context) {
        if (const auto known = find(key)) return known;
        const auto of_context = reinterpret_cast<std::uintptr_t>(context);
        if (const auto gone = find(kGone)) {
            streams_[*gone] = key;
            order.make_anew(*gone, kind, of_context);
            return gone;
        }
        if (streams_.size() == kMostStreams) return std::nullopt;
        streams_.push_back(key);
        return order.add_stream(kind, of_context);
    }
    void forget(const StreamKey& key) {
        if (const auto known = find(key)) streams_[*known] = kGone;
    }
    void forget_all() {
        order = StreamOrder();
        streams_.clear();
    }

  private:
    static constexpr std::size_t kMostStreams = 256;
    static constexpr StreamKey kGone{nullptr, nullptr, ~std::uint64_t{0}};  // no stream has this key
    std::vector<StreamKey> streams_;                                        // by number
};

namespace races {
namespace {

using Conflict = StreamOrder::Conflict;
using Touch = StreamOrder::Touch;
using Use = StreamOrder::Use;
using Lock = std::unique_lock<ForkSafeMutex>;

RaceWatch& watch() {
    std::atomic<RaceWatch*>& place = wiped_page().races;
    if (place.load(std::memory_order_relaxed) == nullptr)
        place.store(new RaceWatch, std::memory_order_relaxed);
    return *place.load(std::memory_order_relaxed);
}

/// Ends the check. It releases the lock before the message.
void give_up(Lock& lock) {
    watch().is_over = true;
    watch().forget_all();
    lock.unlock();
    message(Severity::warn,
            "more than 256 streams are in use at a time. The check for races stops in this process.");
}

/// A created stream is known by its handle in any current context. The default streams belong to the current
/// context.
StreamKey key_of(CUcontext current, CUstream stream) {
    const StreamKey key = StreamKey::of(current, stream);
    return key.handle == nullptr || key.thread != 0 ? key : StreamKey{nullptr, key.handle, 0};
}

StreamOrder::Kind kind_of(const DriverApi& api, CUstream stream) {
    if (stream == nullptr) return StreamOrder::Kind::legacy;
    unsigned flags = 0;
    const bool is_known =
        api.cuStreamGetFlags != nullptr && api.cuStreamGetFlags(stream, &flags) == CUDA_SUCCESS;
    return is_known && (flags & CU_STREAM_NON_BLOCKING) != 0 ? StreamOrder::Kind::free
                                                             : StreamOrder::Kind::blocking;
}

CUcontext context_of(const DriverApi& api, const StreamKey& key, CUcontext current) {
    CUcontext context = nullptr;
    const bool is_asked = key.context == nullptr && api.cuStreamGetCtx != nullptr;
    return is_asked && api.cuStreamGetCtx(key.handle, &context) == CUDA_SUCCESS ? context : current;
}

template <typename Work>
void guarded(Work work) {
    if (!observing()) return;
    const ErrnoKeeper errno_keeper;
    try {
        work();
    } catch (...) {
        switch_off("out of memory while checking for races");
    }
}

/// Calls `work` under the lock with the order and the number of the stream.
template <typename Work>
void with_stream(CUstream stream, Work work) {
    const DriverApi* const api = driver_api();
    if (api == nullptr) return;
    CUcontext current = nullptr;
    api->cuCtxGetCurrent(&current);
    const StreamKey key = key_of(current, stream);
    Lock lock(wiped_page().races_mutex);
    if (watch().is_over) return;
    std::optional<StreamOrder::Stream> number = watch().find(key);
    if (!number) {
        // The driver must not be called under the lock.
        lock.unlock();
        const StreamOrder::Kind kind = kind_of(*api, key.handle);
        const CUcontext context = context_of(*api, key, current);
        lock.lock();
        if (!watch().is_over) number = watch().add(key, kind, context);
    }
    if (!number) {
        if (!watch().is_over) give_up(lock);
        return;
    }
    work(watch().order, *number);
}

/// Does the same for operations without a stream.
template <typename Work>
void with_order(Work work) {
    guarded([&] {
        const Lock lock(wiped_page().races_mutex);
        if (!watch().is_over) work(watch().order);
    });
}

template <typename Work>
void with_stream_of(void* stream, Work work) {
    guarded([&] { with_stream(static_cast<CUstream>(stream), work); });
}

struct KnownTouch {
    Touch touch;
    Toucher who;
};

void note_all(CUstream stream, const std::vector<KnownTouch>& all) {
    const DriverApi* const api = driver_api();
    const bool is_captured = api == nullptr || capture_of(*api, stream) != Capture::none;
    std::vector<std::pair<const KnownTouch*, Conflict>> found;
    with_stream(stream, [&](StreamOrder& order, StreamOrder::Stream number) {
        order.begin(number);
        for (const KnownTouch& each : all) {
            if (is_captured) break;
            if (const auto conflict = order.touch(number, each.touch, each.who))
                found.emplace_back(&each, *conflict);
        }
    });
    for (const auto& [later, conflict] : found)
        report_race(later->who, later->touch.use, conflict);
}

// The functions below record the calls of models.

Use use_of(Role role) {
    if (role == Role::reads) return Use::reads;
    return role == Role::unknown ? Use::may_write : Use::writes;
}

/// Returns the bytes that are certainly accessed. The gaps of a view may belong to other tensors, so such a
/// view counts as one element.
std::uint64_t touched_bytes(const SeenFacts& facts) {
    if (facts.count == 0 && facts.sizes_known) return 0;
    if (!facts.has_known_bytes) return 1;
    const std::uint64_t element = element_size(facts.measured_dtype);
    return facts.covered_bytes <= facts.count * element ? facts.covered_bytes : element;
}

/// The result of an op may be a view of an argument. Creating it writes nothing.
bool is_view_of_another(const CallTensors& own, std::size_t i) {
    for (std::size_t other = 0; other < own.found.size(); ++other) {
        const SeenTensor& tensor = own.tensors[other];
        if (tensor.facts == nullptr || own.found[other].facts->role == Role::makes) continue;
        const std::uint64_t bytes = std::max<std::uint64_t>(tensor.facts->covered_bytes, 1);
        if (own.tensors[i].address >= tensor.address && own.tensors[i].address - tensor.address < bytes)
            return true;
    }
    return false;
}

/// True inside an op. The op's arguments describe its copies better.
bool is_of_call() {
    const ThreadState* const state = thread_state_if_any();
    return state != nullptr && state->depth != 0 && state->open[state->depth - 1].site != kNone;
}

bool is_on_device(const SeenFacts& facts) {
    return facts.place == Place::cuda ||
           !facts.sizes_known;  // only the address is known, and it is on the device
}

}  // namespace

void note_call(ThreadState& state, const MeasuredModel& model, const OpenCall& call, When when) {
    const SitePlan* const plan = model.site(call.site);
    if (!model.is_on_cuda() || plan == nullptr || innermost_run(state) == nullptr ||
        !has_arguments(call.passage))
        return;
    CallTensors& own = tensors_of(state);
    find_arguments(own, model, call, when);
    std::vector<KnownTouch> all;
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        const CallArgument& argument = own.found[i];
        const SeenTensor& tensor = own.tensors[i];
        if (argument.kind == CallArgument::Kind::scalar || tensor.facts == nullptr ||
            !is_on_device(*tensor.facts))
            continue;
        const bool is_made = argument.only_after || argument.facts->role == Role::makes;
        if (is_made != (when == When::after) || (is_made && is_view_of_another(own, i))) continue;
        const Touch touch{tensor.address, touched_bytes(*tensor.facts), use_of(argument.facts->role)};
        all.push_back({touch,
                       {nullptr, &plan->facts, argument.facts, call.model, call.run, call.number, call.seq,
                        call.stream, own.thread}});
    }
    if (!all.empty()) note_all(reinterpret_cast<CUstream>(call.stream), all);
}

void note_work(void* stream) {
    with_stream_of(stream, [](StreamOrder& order, StreamOrder::Stream number) { order.begin(number); });
}

void note_graph(void* stream) {
    note_unseen_wait(stream);
    note_callback(stream);
    with_order([](StreamOrder& order) { order.forget_events(); });
}

void note_copied(const char* function, void* stream, const CopyRanges& ranges) {
    if (is_of_call()) return note_work(stream);
    guarded([&] {
        Toucher program;
        program.function = function;
        program.stream = reinterpret_cast<std::uintptr_t>(stream);
        const auto& [read, written, is_between_peers] = ranges;
        note_all(static_cast<CUstream>(stream), {{{read.address, read.bytes, Use::reads}, program},
                                                 {{written.address, written.bytes, Use::writes}, program}});
    });
}

void note_recorded(void* event, void* stream) {
    guarded([=] {
        const DriverApi* const api = driver_api();
        if (api == nullptr || capture_of(*api, static_cast<CUstream>(stream)) != Capture::none)
            return note_unseen_event(event);
        with_stream(static_cast<CUstream>(stream), [=](StreamOrder& order, StreamOrder::Stream number) {
            order.record(reinterpret_cast<std::uintptr_t>(event), number);
        });
    });
}

void note_unseen_event(void* event) {
    with_order([event](StreamOrder& order) { order.forget(reinterpret_cast<std::uintptr_t>(event)); });
}

void note_waits(void* stream, void* event) {
    with_stream_of(stream, [event](StreamOrder& order, StreamOrder::Stream number) {
        order.wait_for(number, reinterpret_cast<std::uintptr_t>(event));
    });
}

void note_unseen_wait(void* stream) {
    with_stream_of(stream,
                   [](StreamOrder& order, StreamOrder::Stream number) { order.wait_for_all(number); });
}

void note_waited(const Awaited& awaited) {
    if (awaited.event == 0 && !awaited.is_all) return note_callback(reinterpret_cast<void*>(awaited.stream));
    with_order([awaited](StreamOrder& order) {
        if (awaited.is_all) {
            order.host_waited_for_all();
        } else {
            order.host_waited(awaited.event);
        }
    });
}

void note_callback(void* stream) {
    with_stream_of(stream,
                   [](StreamOrder& order, StreamOrder::Stream number) { order.host_waited_for(number); });
}

bool is_waited_for(std::uint64_t to) {
    const ErrnoKeeper errno_keeper;
    const DriverApi* const api = driver_api();
    unsigned type = 0;
    return api == nullptr ||
           api->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, to) != CUDA_SUCCESS;
}

void note_destroyed(void* stream) {
    guarded([stream] {
        const Lock lock(wiped_page().races_mutex);
        watch().forget(key_of(nullptr, static_cast<CUstream>(stream)));
    });
}

void note_context_ends() {
    guarded([] {
        const Lock lock(wiped_page().races_mutex);
        watch().forget_all();
    });
}

void note_freed(const char* function, std::uint64_t address, void* stream) {
    note_copied(function, stream, {{}, {address, allocation_bytes(address)}});
    note_freed_at_once(address);
}

void note_freed_at_once(std::uint64_t address) {
    note_unmapped(address, allocation_bytes(address));
}

void note_unmapped(std::uint64_t address, std::uint64_t bytes) {
    with_order([=](StreamOrder& order) { order.forget_memory(address, bytes); });
}

}  // namespace races
}  // namespace aoti_dbg

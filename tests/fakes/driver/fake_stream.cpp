// Streams and events.
#include "tests/fakes/driver/fake_cuda_control.h"

#include <chrono>

#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

/// Guards iteration over all streams, and their creation and destruction.
std::mutex& streams_mutex() {
    static auto* instance = new std::mutex;
    return *instance;
}

Stream* make_stream(Context* context, unsigned int flags, int priority) {
    Stream* stream = pools().streams.take();
    if (stream == nullptr) return nullptr;
    const std::lock_guard lock(streams_mutex());
    stream->context = context;
    stream->queue = std::make_shared<Queue>(context);
    stream->flags = flags;
    stream->priority = priority;
    static std::atomic<std::uint64_t> next_id{1};
    stream->id = next_id++;
    stream->blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
    if (stream->blocking) ++context->blocking_streams;
    stream->alive.store(true, std::memory_order_release);
    return stream;
}

void end_stream(Stream* stream) {
    forget_capture_of(stream);
    stream->queue->stop();
    {
        const std::lock_guard lock(streams_mutex());
        stream->alive.store(false, std::memory_order_release);
        stream->queue.reset();
        if (stream->blocking) --stream->context->blocking_streams;
    }
    pools().streams.give_back(stream);
}

/// The streams behind CU_STREAM_PER_THREAD: one per context, destroyed with the thread. A context's end may
/// destroy a stream and reuse its place. The queue then differs.
struct ThreadStreams {
    struct Mine {
        Stream* stream;
        std::shared_ptr<Queue> queue;
        [[nodiscard]] bool is_alive() const {
            const std::lock_guard lock(streams_mutex());
            return stream->queue == queue;
        }
    };
    std::vector<Mine> streams;
    ~ThreadStreams() {
        if (!is_initialised()) return;  // a forked child has no workers
        for (const Mine& mine : streams) {
            if (mine.is_alive()) end_stream(mine.stream);
        }
    }
};

Stream* per_thread_stream(Context* context) {
    thread_local ThreadStreams own;
    for (const ThreadStreams::Mine& mine : own.streams) {
        if (mine.queue->context() == context && mine.is_alive()) return mine.stream;
    }
    Stream* stream = make_stream(context, 0, 0);
    if (stream != nullptr) own.streams.push_back({stream, stream->queue});
    return stream;
}

std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

CUresult record(CUevent handle, CUstream stream_handle, bool per_thread) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    Event* event = pools().events.check(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    Stream* stream = nullptr;
    if (CUresult result = find_stream(stream_handle, per_thread, context, stream); result != CUDA_SUCCESS) {
        return result;
    }
    if (stream->captures) {
        std::shared_ptr<Capture> capture;
        {
            const std::lock_guard lock(capture_mutex());
            capture = stream->capture;
        }
        const std::lock_guard lock(event->mutex);
        event->capture = capture;
        return CUDA_SUCCESS;
    }
    if (CUresult result = implicit_during_capture(stream); result != CUDA_SUCCESS) return result;
    const std::uint64_t ticket = submit_in_order(stream, [event] {
        const std::lock_guard lock(event->mutex);
        event->recorded_ns = now_ns();
    });
    const std::lock_guard lock(event->mutex);
    event->capture.reset();
    event->queue = stream->queue;
    event->ticket = ticket;
    return CUDA_SUCCESS;
}

CUresult stream_wait(CUstream stream_handle, CUevent handle, bool per_thread) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    Event* event = pools().events.check(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    Stream* stream = nullptr;
    if (CUresult result = find_stream(stream_handle, per_thread, context, stream); result != CUDA_SUCCESS) {
        return result;
    }
    std::shared_ptr<Queue> queue;
    std::shared_ptr<Capture> capture;
    std::uint64_t ticket = 0;
    {
        const std::lock_guard lock(event->mutex);
        queue = event->queue;
        ticket = event->ticket;
        capture = event->capture;
    }
    if (capture != nullptr) {
        // Waiting for an event of a capture adds the stream to that capture.
        const std::lock_guard lock(capture_mutex());
        stream->capture = capture;
        stream->captures = true;
        return CUDA_SUCCESS;
    }
    if (stream->captures) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    if (queue != nullptr) stream->queue->submit_wait(queue, ticket);
    return CUDA_SUCCESS;
}

/// Returns the event's state for a query or a wait on the host.
CUresult inspect(CUevent handle, std::shared_ptr<Queue>& queue, std::uint64_t& ticket) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    Event* event = pools().events.check(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult result = unsafe_during_capture(); result != CUDA_SUCCESS) return result;
    const std::lock_guard lock(event->mutex);
    if (event->capture != nullptr) return CUDA_ERROR_CAPTURED_EVENT;
    queue = event->queue;
    ticket = event->ticket;
    return CUDA_SUCCESS;
}

CUresult elapsed(float* milliseconds, CUevent first, CUevent second) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    Event* start = pools().events.check(first);
    Event* end = pools().events.check(second);
    if (start == nullptr || end == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::scoped_lock lock(start->mutex, end->mutex);
    if (start->queue == nullptr || end->queue == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (!start->queue->is_done(start->ticket) || !end->queue->is_done(end->ticket))
        return CUDA_ERROR_NOT_READY;
    *milliseconds = static_cast<float>(static_cast<double>(end->recorded_ns - start->recorded_ns) * 1e-6);
    return CUDA_SUCCESS;
}

std::vector<std::shared_ptr<Queue>> queues_of(const Context* context, bool only_blocking) {
    std::vector<std::shared_ptr<Queue>> queues;
    const std::lock_guard lock(streams_mutex());
    pools().streams.for_each_alive([&](const Stream* stream) {
        if (stream->context != context || (only_blocking && (!stream->blocking || stream->captures))) return;
        queues.push_back(stream->queue);
    });
    return queues;
}

}  // namespace

void make_legacy_stream(Context* context) {
    context->legacy = make_stream(context, CU_STREAM_NON_BLOCKING, 0);
    context->legacy->flags = 0;
}

CUresult find_stream(CUstream handle, bool per_thread, Context* context, Stream*& stream) {
    if (handle == CU_STREAM_PER_THREAD || (handle == nullptr && per_thread)) {
        stream = per_thread_stream(context);
        return stream == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    }
    if (handle == nullptr || handle == CU_STREAM_LEGACY) {
        stream = context->legacy;
        return CUDA_SUCCESS;
    }
    stream = pools().streams.check(handle);
    if (stream == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return stream->context == context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

std::uint64_t submit_in_order(Stream* stream, Queue::Task task) {
    Context* context = stream->context;
    if (stream == context->legacy) {
        if (context->blocking_streams > 0) {
            for (const auto& queue : queues_of(context, true)) {
                stream->queue->submit_wait(queue, queue->last_ticket());
            }
        }
    } else if (stream->blocking) {
        stream->queue->submit_wait(context->legacy->queue, context->legacy->queue->last_ticket());
    }
    return stream->queue->submit(std::move(task));
}

void synchronize_context(Context* context) {
    for (const auto& queue : queues_of(context, false))
        queue->wait_all();
}

void abandon_streams_of(Context* context) {
    pools().streams.for_each_alive([context](Stream* stream) {
        if (stream->context == context) stream->queue->abandon();
    });
}

void end_streams_of(Context* context) {
    std::vector<Stream*> ending;
    {
        const std::lock_guard lock(streams_mutex());
        pools().streams.for_each_alive([context, &ending](Stream* stream) {
            if (stream->context == context) ending.push_back(stream);
        });
    }
    for (Stream* stream : ending)
        end_stream(stream);
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API CUresult cuStreamCreateWithPriority(CUstream* out, unsigned int flags, int priority) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    if (out == nullptr || (flags & ~static_cast<unsigned int>(CU_STREAM_NON_BLOCKING)) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    Stream* stream = make_stream(context, flags, priority);
    if (stream == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = reinterpret_cast<CUstream>(stream);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuStreamCreate(CUstream* out, unsigned int flags) {
    return cuStreamCreateWithPriority(out, flags, 0);
}

FAKE_API CUresult cuStreamDestroy_v2(CUstream handle) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    Stream* stream = pools().streams.check(handle);
    if (stream == nullptr || stream == context->legacy) return CUDA_ERROR_INVALID_HANDLE;
    end_stream(stream);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuStreamDestroy(CUstream handle) {
    return cuStreamDestroy_v2(handle);
}

#define FAKE_STREAM_FUNCTIONS(suffix, per_thread)                                                          \
    FAKE_API CUresult cuStreamSynchronize##suffix(CUstream handle) {                                       \
        Context* context = nullptr;                                                                        \
        if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;                       \
        Stream* stream = nullptr;                                                                          \
        if (CUresult result = find_stream(handle, per_thread, context, stream); result != CUDA_SUCCESS) {  \
            return result;                                                                                 \
        }                                                                                                  \
        if (CUresult result = unsafe_during_capture(); result != CUDA_SUCCESS) return result;              \
        if (stream->captures) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;                                \
        if (stream == context->legacy) {                                                                   \
            stream->queue->wait(submit_in_order(stream, [] {}));                                           \
        } else {                                                                                           \
            stream->queue->wait_all();                                                                     \
        }                                                                                                  \
        return static_cast<CUresult>(context->sticky.load());                                              \
    }                                                                                                      \
    FAKE_API CUresult cuStreamQuery##suffix(CUstream handle) {                                             \
        Context* context = nullptr;                                                                        \
        if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;                       \
        Stream* stream = nullptr;                                                                          \
        if (CUresult result = find_stream(handle, per_thread, context, stream); result != CUDA_SUCCESS) {  \
            return result;                                                                                 \
        }                                                                                                  \
        if (CUresult result = unsafe_during_capture(); result != CUDA_SUCCESS) return result;              \
        if (!stream->queue->is_done(stream->queue->last_ticket())) return CUDA_ERROR_NOT_READY;            \
        return static_cast<CUresult>(context->sticky.load());                                              \
    }                                                                                                      \
    FAKE_API CUresult cuStreamGetFlags##suffix(CUstream handle, unsigned int* flags) {                     \
        Context* context = nullptr;                                                                        \
        if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;                       \
        Stream* stream = nullptr;                                                                          \
        if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;                                             \
        if (CUresult result = find_stream(handle, per_thread, context, stream); result != CUDA_SUCCESS) {  \
            return result;                                                                                 \
        }                                                                                                  \
        *flags = stream->flags;                                                                            \
        return CUDA_SUCCESS;                                                                               \
    }                                                                                                      \
    FAKE_API CUresult cuStreamGetCtx##suffix(CUstream handle, CUcontext* out) {                            \
        Context* context = nullptr;                                                                        \
        if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;                       \
        if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;                                               \
        const Stream* const made = pools().streams.check(handle);                                          \
        *out = reinterpret_cast<CUcontext>(made != nullptr ? made->context : context);                     \
        return CUDA_SUCCESS;                                                                               \
    }                                                                                                      \
    FAKE_API CUresult cuStreamGetId##suffix(CUstream handle, unsigned long long* id) {                     \
        Context* context = nullptr;                                                                        \
        if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;                       \
        Stream* stream = nullptr;                                                                          \
        if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;                                                \
        if (CUresult result = find_stream(handle, per_thread, context, stream); result != CUDA_SUCCESS) {  \
            return result;                                                                                 \
        }                                                                                                  \
        *id = stream->id;                                                                                  \
        return CUDA_SUCCESS;                                                                               \
    }                                                                                                      \
    FAKE_API CUresult cuEventRecordWithFlags##suffix(CUevent event, CUstream handle, unsigned int flags) { \
        return flags > 1 ? CUDA_ERROR_INVALID_VALUE : record(event, handle, per_thread);                   \
    }                                                                                                      \
    FAKE_API CUresult cuStreamWaitEvent##suffix(CUstream handle, CUevent event, unsigned int flags) {      \
        return flags > 1 ? CUDA_ERROR_INVALID_VALUE : stream_wait(handle, event, per_thread);              \
    }                                                                                                      \
    FAKE_API CUresult cuEventRecord##suffix(CUevent event, CUstream handle) {                              \
        return record(event, handle, per_thread);                                                          \
    }

FAKE_STREAM_FUNCTIONS(, false)
FAKE_STREAM_FUNCTIONS(_ptsz, true)

FAKE_API CUresult cuEventCreate(CUevent* out, unsigned int flags) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Event* event = pools().events.take();
    if (event == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    event->context = context;
    event->flags = flags;
    event->queue.reset();
    event->capture.reset();
    event->alive.store(true, std::memory_order_release);
    *out = reinterpret_cast<CUevent>(event);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuEventDestroy_v2(CUevent handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    Event* event = pools().events.check(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    {
        const std::lock_guard lock(event->mutex);
        event->capture.reset();
    }
    pools().events.give_back(event);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuEventDestroy(CUevent handle) {
    return cuEventDestroy_v2(handle);
}

FAKE_API CUresult cuEventQuery(CUevent handle) {
    std::shared_ptr<Queue> queue;
    std::uint64_t ticket = 0;
    if (CUresult result = inspect(handle, queue, ticket); result != CUDA_SUCCESS) return result;
    return queue == nullptr || queue->is_done(ticket) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

FAKE_API CUresult cuEventSynchronize(CUevent handle) {
    std::shared_ptr<Queue> queue;
    std::uint64_t ticket = 0;
    if (CUresult result = inspect(handle, queue, ticket); result != CUDA_SUCCESS) return result;
    if (queue != nullptr) queue->wait(ticket);
    return static_cast<CUresult>(current_context()->sticky.load());
}

FAKE_API CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    return elapsed(milliseconds, start, end);
}

#if CUDA_VERSION >= 12080
FAKE_API CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
    return elapsed(milliseconds, start, end);
}
#endif

FAKE_API void fake_cuda_hold_stream(void* handle) {
    Stream* stream = nullptr;
    if (Context* context = current_context();
        context != nullptr &&
        find_stream(static_cast<CUstream>(handle), false, context, stream) == CUDA_SUCCESS)
        stream->queue->hold();
}

FAKE_API void fake_cuda_release_stream(void* handle) {
    Stream* stream = nullptr;
    if (Context* context = current_context();
        context != nullptr &&
        find_stream(static_cast<CUstream>(handle), false, context, stream) == CUDA_SUCCESS)
        stream->queue->release();
    note_stalled_kernel({});
}

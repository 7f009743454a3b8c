// Stream capture and graphs. A graph is the list of captured tasks in capture order.
#include <algorithm>

#include "tests/fakes/driver/fake_driver.hpp"
#include "tests/fakes/driver/fake_profile.hpp"

namespace fake_cuda {

struct Task {
    std::function<void(std::uint64_t grid)> work;
    bool is_kernel;
};
using Tasks = std::vector<Task>;

struct Capture {
    Stream* origin = nullptr;
    Context* context = nullptr;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    const void* thread = nullptr;
    std::uint64_t id = 0;
    bool broken = false;
    Tasks tasks;
};

namespace {

struct Graph {
    std::atomic<bool> alive{false};
    std::shared_ptr<const Tasks> tasks;
    Context* context = nullptr;
    std::uint64_t first_grid = 0;  // of its kernels, after instantiation
};

Pool<Graph, 512>& graphs() {
    static auto* instance = new Pool<Graph, 512>;
    return *instance;
}

Pool<Graph, 512>& executables() {
    static auto* instance = new Pool<Graph, 512>;
    return *instance;
}

std::vector<std::shared_ptr<Capture>>& captures() {
    static auto* instance = new std::vector<std::shared_ptr<Capture>>;
    return *instance;
}

// Every call reads this. It reads the list itself only while a capture is active.
std::atomic<int> g_capturing{0};
std::atomic<std::uint64_t> g_next_capture{1};
thread_local CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
thread_local char t_thread;  // its address identifies the thread

CUresult begin(CUstream handle, CUstreamCaptureMode mode, bool per_thread) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    Stream* stream = nullptr;
    if (CUresult result = find_stream(handle, per_thread, context, stream); result != CUDA_SUCCESS)
        return result;
    if (stream == context->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    const std::lock_guard lock(capture_mutex());
    if (stream->captures) return CUDA_ERROR_ILLEGAL_STATE;
    auto capture = std::make_shared<Capture>();
    capture->origin = stream;
    capture->context = context;
    capture->mode = mode;
    capture->thread = &t_thread;
    capture->id = g_next_capture++;
    stream->capture = capture;
    stream->captures = true;
    captures().push_back(std::move(capture));
    ++g_capturing;
    return CUDA_SUCCESS;
}

/// Requires the mutex.
void end_capture(const std::shared_ptr<Capture>& capture) {
    pools().streams.for_each_alive([&capture](Stream* stream) {
        if (stream->capture != capture) return;
        stream->capture.reset();
        stream->captures = false;
    });
    captures().erase(std::remove(captures().begin(), captures().end(), capture), captures().end());
    --g_capturing;
}

CUresult end(CUstream handle, CUgraph* out, bool per_thread) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    Stream* stream = nullptr;
    if (CUresult result = find_stream(handle, per_thread, context, stream); result != CUDA_SUCCESS)
        return result;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = nullptr;
    const std::lock_guard lock(capture_mutex());
    const std::shared_ptr<Capture> capture = stream->capture;
    if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != &t_thread) {
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    end_capture(capture);
    if (capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    Graph* graph = graphs().take();
    if (graph == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    graph->tasks = std::make_shared<const Tasks>(std::move(capture->tasks));
    graph->context = context;
    graph->alive.store(true, std::memory_order_release);
    *out = reinterpret_cast<CUgraph>(graph);
    return CUDA_SUCCESS;
}

/// Requires the mutex. Returns whether a blocking stream captures, which synchronizes with the legacy stream.
bool any_capture_blocks(const Context* context) {
    return std::any_of(captures().begin(), captures().end(), [context](const auto& capture) {
        return capture->context == context && capture->origin->blocking;
    });
}

CUresult status_of(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, bool per_thread) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Stream* stream = nullptr;
    if (CUresult result = find_stream(handle, per_thread, context, stream); result != CUDA_SUCCESS)
        return result;
    const std::lock_guard lock(capture_mutex());
    // Unlike work on the legacy stream, the query does not invalidate the capture.
    if (stream == context->legacy && any_capture_blocks(context)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (stream->capture == nullptr) return CUDA_SUCCESS;
    *status =
        stream->capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (id != nullptr) *id = stream->capture->id;
    return CUDA_SUCCESS;
}

CUresult instantiate(CUgraphExec* out, CUgraph handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    const Graph* graph = graphs().check(handle);
    if (out == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Graph* executable = executables().take();
    if (executable == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    executable->tasks = graph->tasks;
    executable->context = graph->context;
    // The graph itself takes a grid number before its kernels do.
    const auto kernels = std::count_if(graph->tasks->begin(), graph->tasks->end(),
                                       [](const Task& task) { return task.is_kernel; });
    executable->first_grid = graph->context->grids.fetch_add(1 + static_cast<std::uint64_t>(kernels)) + 2;
    executable->alive.store(true, std::memory_order_release);
    *out = reinterpret_cast<CUgraphExec>(executable);
    return CUDA_SUCCESS;
}

CUresult launch(CUgraphExec handle, CUstream stream_handle, bool per_thread) {
    constexpr std::uint32_t kCuGraphLaunch = 514;  // in CUPTI
    const ProfiledCall profiled(kCuGraphLaunch);
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    const Graph* executable = executables().check(handle);
    if (executable == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Stream* stream = nullptr;
    if (CUresult result = find_stream(stream_handle, per_thread, context, stream); result != CUDA_SUCCESS) {
        return result;
    }
    auto work = [tasks = executable->tasks, first = executable->first_grid] {
        std::uint64_t grid = first;
        for (const Task& task : *tasks)
            task.work(task.is_kernel ? grid++ : 0);
    };
    if (stream->captures) return capture_task(stream, std::move(work));
    if (CUresult result = implicit_during_capture(stream); result != CUDA_SUCCESS) return result;
    submit_in_order(stream, std::move(work));
    return CUDA_SUCCESS;
}

CUresult add(Task task, Stream* stream) {
    const std::lock_guard lock(capture_mutex());
    if (stream->capture == nullptr || stream->capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    stream->capture->tasks.push_back(std::move(task));
    return CUDA_SUCCESS;
}

}  // namespace

std::mutex& capture_mutex() {
    static auto* instance = new std::mutex;
    return *instance;
}

CUresult unsafe_during_capture() {
    if (g_capturing.load(std::memory_order_acquire) == 0 || t_mode == CU_STREAM_CAPTURE_MODE_RELAXED) {
        return CUDA_SUCCESS;
    }
    CUresult result = CUDA_SUCCESS;
    const std::lock_guard lock(capture_mutex());
    for (const auto& capture : captures()) {
        const bool mine = capture->thread == &t_thread;
        const bool forbidden =
            mine ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                 : capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && t_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (!forbidden) continue;
        capture->broken = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

CUresult implicit_during_capture(Stream* stream) {
    if (g_capturing.load(std::memory_order_acquire) == 0 || stream != stream->context->legacy)
        return CUDA_SUCCESS;
    CUresult result = CUDA_SUCCESS;
    const std::lock_guard lock(capture_mutex());
    for (const auto& capture : captures()) {
        if (capture->context != stream->context || !capture->origin->blocking) continue;
        capture->broken = true;
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return result;
}

CUresult capture_task(Stream* stream, std::function<void()> task) {
    return add({[task = std::move(task)](std::uint64_t) { task(); }, false}, stream);
}

CUresult capture_kernel(Stream* stream, std::function<void(std::uint64_t grid)> kernel) {
    return add({std::move(kernel), true}, stream);
}

void forget_capture_of(Stream* stream) {
    if (!stream->captures) return;
    const std::lock_guard lock(capture_mutex());
    if (const std::shared_ptr<Capture> capture = stream->capture; capture != nullptr) end_capture(capture);
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    std::swap(*mode, t_mode);
    return CUDA_SUCCESS;
}

#define FAKE_CAPTURE_FUNCTIONS(suffix, per_thread)                                                   \
    FAKE_API CUresult cuStreamBeginCapture_v2##suffix(CUstream stream, CUstreamCaptureMode mode) {   \
        return begin(stream, mode, per_thread);                                                      \
    }                                                                                                \
    FAKE_API CUresult cuStreamBeginCapture##suffix(CUstream stream) {                                \
        return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, per_thread);                             \
    }                                                                                                \
    FAKE_API CUresult cuStreamEndCapture##suffix(CUstream stream, CUgraph* graph) {                  \
        return end(stream, graph, per_thread);                                                       \
    }                                                                                                \
    FAKE_API CUresult cuStreamIsCapturing##suffix(CUstream stream, CUstreamCaptureStatus* status) {  \
        return status_of(stream, status, nullptr, per_thread);                                       \
    }                                                                                                \
    FAKE_API CUresult cuStreamGetCaptureInfo##suffix(CUstream stream, CUstreamCaptureStatus* status, \
                                                     cuuint64_t* id) {                               \
        return status_of(stream, status, id, per_thread);                                            \
    }                                                                                                \
    FAKE_API CUresult cuStreamGetCaptureInfo_v2##suffix(                                             \
        CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,              \
        const CUgraphNode** dependencies, std::size_t* count) {                                      \
        if (graph != nullptr || dependencies != nullptr) return CUDA_ERROR_NOT_SUPPORTED;            \
        if (count != nullptr) *count = 0;                                                            \
        return status_of(stream, status, id, per_thread);                                            \
    }                                                                                                \
    FAKE_API CUresult cuStreamGetCaptureInfo_v3##suffix(                                             \
        CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,              \
        const CUgraphNode** dependencies, const CUgraphEdgeData**, std::size_t* count) {             \
        if (graph != nullptr || dependencies != nullptr) return CUDA_ERROR_NOT_SUPPORTED;            \
        if (count != nullptr) *count = 0;                                                            \
        return status_of(stream, status, id, per_thread);                                            \
    }                                                                                                \
    FAKE_API CUresult cuGraphLaunch##suffix(CUgraphExec graph, CUstream stream) {                    \
        return launch(graph, stream, per_thread);                                                    \
    }

FAKE_CAPTURE_FUNCTIONS(, false)
FAKE_CAPTURE_FUNCTIONS(_ptsz, true)

FAKE_API CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    const Graph* graph = graphs().check(handle);
    if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (nodes != nullptr) return CUDA_ERROR_NOT_SUPPORTED;  // only the count is supported
    *count = graph->tasks->size();
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph, unsigned long long) {
    return instantiate(out, graph);
}

FAKE_API CUresult cuGraphInstantiate_v2(CUgraphExec* out, CUgraph graph, CUgraphNode*, char*, std::size_t) {
    return instantiate(out, graph);
}

FAKE_API CUresult cuGraphInstantiate(CUgraphExec* out, CUgraph graph, CUgraphNode*, char*, std::size_t) {
    return instantiate(out, graph);
}

FAKE_API CUresult cuGraphExecDestroy(CUgraphExec handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    Graph* executable = executables().check(handle);
    if (executable == nullptr) return CUDA_ERROR_INVALID_VALUE;
    executables().give_back(executable);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuGraphDestroy(CUgraph handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    Graph* graph = graphs().check(handle);
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    graphs().give_back(graph);
    return CUDA_SUCCESS;
}

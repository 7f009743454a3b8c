// The contexts and streams of a measurer, and what waits to be measured on them.
#include <tuple>
#include <utility>

#include "shim/measure/measurer.hpp"
#include "shim/measure/torch_allocations.hpp"

namespace aoti_dbg {

bool Measurer::ByKey::operator()(const StreamKey& one, const StreamKey& other) const {
    return std::tie(one.context, one.handle, one.thread) <
           std::tie(other.context, other.handle, other.thread);
}

StreamPoint* Measurer::point_of(CUstream stream, CUcontext context) {
    const DriverApi* api = driver_api();
    if (api == nullptr) return nullptr;
    if (context == nullptr && (api->cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr))
        return nullptr;
    const StreamKey key = StreamKey::of(context, stream);
    const std::lock_guard lock(points_mutex_);
    if (const auto known = points_.find(key); known != points_.end())
        return known->second->gpu().is_usable() ? known->second.get() : nullptr;
    const auto [gpu, is_new] = gpus_.try_emplace(context);
    if (is_new) {
        watch_torch_allocations();
        const ContextScope scope(*api, context);
        gpu->second = Gpu::set_up(*api, context);
        // Without the thread no results are collected.
        if (gpu->second != nullptr && !start_thread()) gpu->second = nullptr;
    }
    if (gpu->second == nullptr || !gpu->second->is_usable()) return nullptr;
    return points_.emplace(key, std::make_unique<StreamPoint>(*gpu->second, key)).first->second.get();
}

StreamPoint* Measurer::point_of(CUstream stream, FoundPoint& last) {
    const DriverApi* api = driver_api();
    CUcontext context = nullptr;
    if (api == nullptr || api->cuCtxGetCurrent(&context) != CUDA_SUCCESS) return nullptr;
    const bool is_same = last.stream == stream && last.context == context && is_valid(last);
    if (!is_same) {
        const std::uint32_t generation = generation_.load(std::memory_order_acquire);
        last = {stream, context, generation, point_of(stream, context)};
    }
    return last.point;
}

void Measurer::flush_pending() {
    const std::lock_guard lock(points_mutex_);
    for (const auto& [key, point] : points_) {
        const std::lock_guard point_lock(point->mutex());
        point->launch();
    }
}

void Measurer::launch_unlocked_points() {
    const std::unique_lock lock(points_mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    for (const auto& [key, point] : points_) {
        const std::unique_lock point_lock(point->mutex(), std::try_to_lock);
        if (point_lock.owns_lock()) point->launch();
    }
}

void Measurer::flush_pending_of(CUstream stream) {
    for_points_of(stream, &StreamPoint::launch);
}

void Measurer::send_pending_of(CUstream stream) {
    for_points_of(stream, &StreamPoint::send);
}

void Measurer::for_points_of(CUstream stream, void (StreamPoint::*what)()) {
    const DriverApi* api = driver_api();
    CUcontext context = nullptr;
    if (api == nullptr || api->cuCtxGetCurrent(&context) != CUDA_SUCCESS) return;
    const StreamKey key = StreamKey::of(context, stream);
    const std::lock_guard lock(points_mutex_);
    for (const auto& [other, point] : points_) {
        // The legacy stream and the other streams wait for each other.
        const bool is_ordered = other == key || other.handle == nullptr || key.handle == nullptr;
        if (other.context != context || !is_ordered) continue;
        const std::lock_guard point_lock(point->mutex());
        (*point.*what)();
    }
}

void Measurer::note_allocation(const MemoryPart& memory) {
    const std::lock_guard lock(points_mutex_);
    for (const auto& [key, point] : points_) {
        const std::lock_guard point_lock(point->mutex());
        if (point->measures(memory)) point->launch();
        point->forget_measured_in(memory);
    }
}

void Measurer::end_contexts() {
    flush_pending();
    wait_until_written(kPatienceAtEnd);
    const std::lock_guard lock(points_mutex_);
    // Threads and the queue may still refer to these objects.
    for (auto& [key, point] : points_)
        retired_points_.push_back(std::move(point));
    for (auto& [context, gpu] : gpus_) {
        if (gpu != nullptr) gpu->give_up();
        retired_gpus_.push_back(std::move(gpu));
    }
    points_.clear();
    gpus_.clear();
    generation_.fetch_add(1, std::memory_order_release);
}

}  // namespace aoti_dbg

#include "shim/measure/stream_point.hpp"

#include <pthread.h>

#include <atomic>
#include <utility>

#include "shim/measure/pending.hpp"

namespace aoti_dbg {
namespace {

// Sequences tell a result from an older one in the same place; 0 is none.
std::uint32_t next_sequence() {
    static std::atomic<std::uint32_t> last{0};
    std::uint32_t sequence = 0;
    while (sequence == 0)
        sequence = last.fetch_add(1, std::memory_order_relaxed) + 1;
    return sequence;
}

std::uint64_t this_thread() {
    return static_cast<std::uint64_t>(pthread_self());
}

static_assert(kMostPrintedValues <= kMostValues, "what is printed of a tensor is brought to the host");

// More names than any run has at work at one time; what does not fit is measured each time.
constexpr std::size_t kMostKnown = 1024;

bool is_same_tensor(const SeenTensor& one, const SeenTensor& other) {
    return one.address == other.address && one.facts->number == other.facts->number;
}

bool overlap(const SeenTensor& one, const SeenTensor& other) {
    return one.address < other.address + other.facts->covered_bytes &&
           other.address < one.address + one.facts->covered_bytes;
}

}  // namespace

StreamKey StreamKey::of(CUcontext context, CUstream stream) {
    if (stream == CU_STREAM_LEGACY) stream = nullptr;
    return {context, stream, stream == CU_STREAM_PER_THREAD ? this_thread() : 0};
}

bool StreamPoint::is_capturing() const {
    const GpuApi& api = gpu_.api();
    const ContextScope context(api, gpu_.context());
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = api.cuStreamIsCapturing(key_.handle, &status);
    // The legacy stream may not be used while another one captures.
    return result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool StreamPoint::is_done() const {
    if (key_.thread != 0 || is_capturing()) return false;
    const ContextScope context(gpu_.api(), gpu_.context());
    const RelaxedCapture relaxed(gpu_.api());
    const CUresult result = gpu_.api().cuStreamQuery(key_.handle);
    if (result == CUDA_ERROR_NOT_READY) return false;
    if (is_end_of_context(result)) gpu_.give_up();
    return true;
}

std::optional<Measurement> StreamPoint::measure(const SeenTensor& seen, Wanted wanted, std::uint32_t call) {
    for (const Pending& other : pending_) {
        if (other.wanted == wanted && is_same_tensor(other.seen, seen)) {
            Measurement same = other.measurement;
            same.call = call;
            return same;
        }
    }
    Measurement measurement;
    const std::optional<std::uint64_t> ticket = gpu_.take_result();
    if (!ticket) return std::nullopt;
    measurement.ticket = *ticket;
    gpu_.result(*ticket).unused = 0;
    const std::uint64_t count = seen.facts->count;
    if (count != 0 && count <= kMostPrintedValues && wants(wanted, Wanted::printed)) {
        // Where there is no room for them it goes without.
        if (const std::optional<std::uint64_t> values = gpu_.take_values()) {
            measurement.values_ticket = *values;
            gpu_.values(*values).unused[0] = 0;
        }
    }
    if (sequence_ == 0) sequence_ = next_sequence();
    measurement.sequence = sequence_;
    measurement.call = call;
    if (pending_.empty()) g_pending_points.fetch_add(1, std::memory_order_relaxed);
    pending_.push_back({seen, wanted, measurement});
    return measurement;
}

std::optional<Measurement> StreamPoint::find(const PlannedArgument& argument, const SeenTensor& seen,
                                             Wanted wanted, std::uint32_t run) const {
    if (run != known_run_ || argument.name_number == kNone || argument.makes_anew) return std::nullopt;
    for (std::size_t i = 0; i < known_names_.size(); ++i) {
        if (known_names_[i] != argument.name_number) continue;
        if (known_[i].wanted != wanted || !is_same_tensor(known_[i].seen, seen)) continue;
        if (gpu_.is_young(known_[i].measurement.ticket)) return known_[i].measurement;
    }
    return std::nullopt;
}

void StreamPoint::remember(const PlannedArgument& argument, const SeenTensor& seen, Wanted wanted,
                           std::uint32_t run, const Measurement& measurement) {
    if (run != known_run_) {
        forget_measured();
        known_run_ = run;
    }
    // Of small tensors the values' places are few, and go round sooner.
    if (argument.name_number == kNone || argument.makes_anew || known_.size() >= kMostKnown ||
        measurement.values_ticket != Measurement::kNoValues)
        return;
    known_names_.push_back(argument.name_number);
    known_.push_back({seen, wanted, measurement});
}

void StreamPoint::note_written(const SeenTensor& seen) {
    // Of a tensor that is not understood nobody knows how far it reaches.
    if (!seen.facts->is_measurable()) return forget_measured();
    for (std::size_t i = known_.size(); i-- > 0;) {
        if (!overlap(known_[i].seen, seen)) continue;
        known_[i] = std::move(known_.back());
        known_.pop_back();
        known_names_[i] = known_names_.back();
        known_names_.pop_back();
    }
}

void StreamPoint::forget_measured() {
    known_.clear();
    known_names_.clear();
}

CUresult StreamPoint::launch_kernel(CUfunction kernel, std::uint32_t blocks, StatisticsLaunch& launch) {
    const GpuApi& api = gpu_.api();
    void* parameters[] = {&launch};
    return api.cuLaunchKernel(kernel, blocks, 1, 1, kBlockThreads, 1, 1, 0, key_.handle, parameters, nullptr);
}

void StreamPoint::launch() {
    if (pending_.empty()) return;
    // Under this handle another thread would find a stream of its own.
    if (key_.thread != 0 && key_.thread != this_thread()) return;
    const ContextScope context(gpu_.api(), gpu_.context());
    CUresult result = CUDA_SUCCESS;
    StatisticsLaunch statistics;
    StatisticsLaunch values;
    for (std::size_t next = 0; next < pending_.size() && result == CUDA_SUCCESS;) {
        statistics = {};
        statistics.scratch = scratch_;
        statistics.sequence = sequence_;
        JobTable table = near_table(statistics);
        const std::size_t first = next;
        for (; next < pending_.size(); ++next) {
            const Pending& job = pending_[next];
            if (!add_job(table, job.seen.facts->view(job.seen.address), job.wanted,
                         gpu_.result_address(job.measurement.ticket)))
                break;
        }
        if (next == first) {
            ++next;  // more dimensions than a launch can take: it stays without a result
            result = CUDA_ERROR_INVALID_VALUE;
            break;
        }
        statistics.jobs = table.used_jobs;
        const std::uint32_t blocks = plan_launch({statistics.near_jobs, table.used_jobs}, gpu_.limits());
        result = launch_kernel(gpu_.statistics_kernel(), blocks, statistics);
        for (std::size_t i = first; i < next; ++i)
            pending_[i].launched = result == CUDA_SUCCESS;

        values = {};
        values.sequence = sequence_;
        JobTable small = near_table(values);
        for (std::size_t i = first; i < next; ++i) {
            const Pending& job = pending_[i];
            if (job.measurement.values_ticket == Measurement::kNoValues) continue;
            // As many dimensions as for its statistics: there is room.
            add_job(small, job.seen.facts->view(job.seen.address), Wanted::indices,
                    gpu_.values_address(job.measurement.values_ticket));
        }
        values.jobs = small.used_jobs;
        if (values.jobs != 0 && result == CUDA_SUCCESS)
            result = launch_kernel(gpu_.values_kernel(), values.jobs, values);
    }
    if (result != CUDA_SUCCESS) {
        gpu_.note_failure(result);
        mark_unmeasured(result);
    }
    pending_.clear();
    sequence_ = 0;
    g_pending_points.fetch_sub(1, std::memory_order_relaxed);
}

/// Who waits for them learns that there is nothing to wait for.
void StreamPoint::mark_unmeasured(CUresult why) {
    for (const Pending& job : pending_) {
        DeviceResult& place = gpu_.result(job.measurement.ticket);
        if (job.measurement.values_ticket != Measurement::kNoValues) {
            DeviceValues& values = gpu_.values(job.measurement.values_ticket);
            values.unused[0] = 1;
            __atomic_store_n(&values.sequence, sequence_, __ATOMIC_RELEASE);
        }
        if (job.launched) continue;  // its result comes
        place.unused = static_cast<std::uint32_t>(why);
        __atomic_store_n(&place.sequence, sequence_, __ATOMIC_RELEASE);
    }
}

}  // namespace aoti_dbg

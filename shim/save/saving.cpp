#include "shim/save/saving.hpp"

#include <new>
#include <utility>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "shim/record/event_output.hpp"

namespace aoti_dbg {
namespace {

// If the writers make no progress for this long, the disk hangs and no thread waits any longer.
constexpr std::uint32_t kPatienceMs = 10'000;
// After a fault, the last tensors never arrive.
constexpr std::uint64_t kPatienceAtFatalEndNs = 300'000'000;
// How long the destruction of a context waits for its device.
constexpr std::uint64_t kPatienceAtEndNs = 2'000'000'000;

}  // namespace

Saving::Saving(const Options& options, TensorWriters& writers, std::unique_ptr<Staging> staging)
    : writers_(writers),
      staging_(std::move(staging)),
      arrivals_(writers),
      folder_(writers.saver().folder().path()),
      requested_(options.tensors),
      largest_(options.max_tensor),
      staging_bytes_(options.staging),
      patience_ms_(options.on_full == OnFull::drop ? 0 : kPatienceMs),
      syncs_(options.sync) {}

Saving* Saving::start(const Options& options, const std::string& out, const std::string& here,
                      RunFiles* run_files) {
    const auto refuse = [](const std::string& why, const std::string& remedy) -> Saving* {
        message(Severity::warn, "%s. No tensors are saved. %s", why.c_str(), remedy.c_str());
        return nullptr;
    };
    if (out.empty())
        return refuse("there is no output directory", "Set AOTI_DBG_OUT to a writable directory.");
    std::unique_ptr<Staging> staging = Staging::make(options.staging);
    if (staging == nullptr) return refuse("cannot allocate the staging buffer", "Lower AOTI_DBG_STAGING.");
    SavingSettings settings = saving_settings(options, out, here, header_facts());
    settings.run_files = run_files;
    const Result<TensorWriters*> writers = TensorWriters::start(settings, options.writers);
    if (!writers.ok()) {
        const Status& failed = writers.status();
        return refuse(failed.message(), failed.error_number() == 0
                                            ? "Raise the thread limit (ulimit -u)."
                                            : remedy_for(failed, "AOTI_DBG_OUT", PlaceKind::directory));
    }
    return new (std::nothrow) Saving(options, *writers.value(), std::move(staging));
}

SavingGpu* Saving::gpu_of(CUcontext context) {
    const DriverApi* api = driver_api();
    if (api == nullptr) return nullptr;
    if (context == nullptr && (api->cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr))
        return nullptr;
    const std::lock_guard lock(gpus_mutex_);
    const auto [gpu, is_new] = gpus_.try_emplace(context);
    if (is_new && arrivals_.start()) {
        const ContextScope scope(*api, context);
        gpu->second = SavingGpu::set_up(*api, context, staging_bytes_);
    }
    const bool is_good = gpu->second != nullptr && gpu->second->is_usable() && !gpu->second->has_failed();
    return is_good ? gpu->second.get() : nullptr;
}

void Saving::end_context(CUcontext context) {
    end_contexts([context](const SavingGpu& gpu) { return gpu.context() == context; });
}

void Saving::end_contexts_of(CUdevice device) {
    end_contexts([device](const SavingGpu& gpu) { return gpu.device() == device; });
}

template <typename Goes>
void Saving::end_contexts(Goes goes) {
    (void)arrivals_.drain(kPatienceAtEndNs);
    {
        const std::lock_guard lock(gpus_mutex_);
        for (auto entry = gpus_.begin(); entry != gpus_.end();) {
            SavingGpu* const gpu = entry->second.get();
            if (gpu != nullptr && !goes(*gpu)) {
                ++entry;
                continue;
            }
            if (gpu != nullptr) {
                gpu->staging().retire();
                gpu->give_up();
                retired_.push_back(std::move(entry->second));
            }
            // After a failed setup, another context with the same handle may succeed.
            entry = gpus_.erase(entry);
        }
    }
    arrivals_.wait_for_questions();
}

void Saving::sync() {
    if (!syncs_ || !arrivals_.drain(std::uint64_t{kPatienceMs} * 1'000'000)) return;
    (void)writers_.drain(kPatienceMs);
}

void Saving::flush() {
    (void)arrivals_.drain(kPatienceAtFatalEndNs);
    writers_.drain_while_writing();
}

/// Writes everything, however long that takes, but does not wait for a hung disk.
void Saving::finish() {
    arrivals_.finish();
    writers_.finish_unless_interrupted(kPatienceMs);
}

}  // namespace aoti_dbg

#include "triage/gather/gpu_counters.hpp"

#include <dlfcn.h>

namespace aoti_dbg {
namespace {

// NVML's types, declared here because its header is not always installed. Devices are pointers, results are
// integers, and 0 means success.
using Device = void*;
using NvmlNumber = unsigned long long;  // NOLINT(google-runtime-int): as NVML has it
enum ErrorKind : int { corrected = 0, uncorrected = 1 };
constexpr int kSinceDriverWasLoaded = 0;

struct RemappedRows {
    unsigned corrected = 0;
    unsigned uncorrected = 0;
    unsigned is_pending = 0;
    unsigned has_failed = 0;
};

class Management {
  public:
    Management() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
        auto* const init = function<int()>("nvmlInit_v2");
        is_ready_ = init != nullptr && init() == 0;
    }
    ~Management() {
        auto* const shutdown = function<int()>("nvmlShutdown");
        if (is_ready_ && shutdown != nullptr) shutdown();
        if (library_ != nullptr) dlclose(library_);
    }
    Management(const Management&) = delete;
    Management& operator=(const Management&) = delete;

    [[nodiscard]] unsigned devices() const {
        unsigned count = 0;
        auto* const get = function<int(unsigned*)>("nvmlDeviceGetCount_v2");
        return is_ready_ && get != nullptr && get(&count) == 0 ? count : 0;
    }
    [[nodiscard]] Device device(unsigned index) const {
        Device device = nullptr;
        auto* const get = function<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2");
        return get != nullptr && get(index, &device) == 0 ? device : nullptr;
    }
    /// Returns 0 if the device does not count them.
    [[nodiscard]] NvmlNumber errors(Device device, ErrorKind kind) const {
        NvmlNumber count = 0;
        auto* const get = function<int(Device, int, int, NvmlNumber*)>("nvmlDeviceGetTotalEccErrors");
        return get != nullptr && get(device, kind, kSinceDriverWasLoaded, &count) == 0 ? count : 0;
    }
    [[nodiscard]] RemappedRows rows(Device device) const {
        RemappedRows rows;
        auto* const get =
            function<int(Device, unsigned*, unsigned*, unsigned*, unsigned*)>("nvmlDeviceGetRemappedRows");
        const bool has = get != nullptr && get(device, &rows.corrected, &rows.uncorrected, &rows.is_pending,
                                               &rows.has_failed) == 0;
        return has ? rows : RemappedRows{};
    }

  private:
    template <typename Function>
    Function* function(const char* name) const {
        return library_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library_, name));
    }

    void* library_;
    bool is_ready_ = false;
};

std::string trouble_of(const Management& management, Device device) {
    const NvmlNumber errors = management.errors(device, uncorrected);
    const RemappedRows rows = management.rows(device);
    std::string text;
    if (errors != 0)
        text +=
            "counted " + std::to_string(errors) + " uncorrected memory errors since the driver was loaded";
    if (rows.is_pending != 0)
        text += std::string(text.empty() ? "" : ", ") + "needs a reset to remap memory rows";
    if (rows.has_failed != 0) text += std::string(text.empty() ? "" : ", ") + "failed to remap a memory row";
    return text;
}

}  // namespace

std::vector<std::string> troubles_of_gpus() {
    std::vector<std::string> troubles;
    const Management management;
    for (unsigned index = 0; index < management.devices(); ++index) {
        Device const device = management.device(index);
        const std::string trouble = device == nullptr ? "" : trouble_of(management, device);
        if (!trouble.empty())
            troubles.push_back("GPU " + std::to_string(index) + " (as nvidia-smi counts) " + trouble +
                               ": if the fault is on this GPU, the hardware may be at fault");
    }
    return troubles;
}

}  // namespace aoti_dbg

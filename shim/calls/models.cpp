#include "shim/calls/models.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "model/package.hpp"
#include "shim/calls/call_lines.hpp"
#include "shim/calls/call_observer.hpp"
#include "shim/calls/container_functions.hpp"
#include "shim/calls/model_binding.hpp"
#include "shim/calls/model_evidence.hpp"
#include "shim/calls/parts.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/deadline_lock.hpp"
#include "shim/runtime/loaded_object.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/shim_api.hpp"
#include "shim/runtime/slots.hpp"
#include "shim/runtime/tally.hpp"

namespace aoti_dbg {
namespace {

struct Model {
    std::uint16_t number = 0;
    LoadedObject object;
    PackageInfo package;
    std::vector<const Name*> proxy_ops;
    // Of the features.
    std::unique_ptr<Parts> parts = std::make_unique<Parts>();
    TorchLibrary torch;       // for the evidence
    bool linked = false;      // not opened by a loader, so its Run may be called without our stub
    std::uint64_t loads = 0;  // the loader's count of unloaded objects when the model was last verified
};

// Model numbers are never reused, so that records stay correct. Models beyond this number are not
// intercepted.
constexpr std::size_t kMostModels = ring::kNoModel;

struct Registry {
    std::vector<std::unique_ptr<Model>> live;
    std::uint64_t walked_at = UINT64_MAX;  // the loader's count of loaded objects at the last search
};

// Launching threads read these without a lock. Their targets are never freed, because a thread may read one
// while its library is unloaded.
std::array<std::atomic<const Model*>, kMostModels> g_by_number;
std::atomic<const std::vector<const Model*>*> g_live{nullptr};

// The registry's lock is held during calls into the loader. A library's constructor runs under the loader's
// lock and may look up a model. The two could deadlock, so the lock has a deadline.
class RegistryLock {
  public:
    RegistryLock() : held_(lock_with_deadline(wiped_page().models_mutex, kPatience)) {}
    ~RegistryLock() {
        if (held_) wiped_page().models_mutex.unlock();
    }
    RegistryLock(const RegistryLock&) = delete;
    RegistryLock& operator=(const RegistryLock&) = delete;
    [[nodiscard]] bool held() const { return held_; }

  private:
    // Much longer than loading any model takes.
    static constexpr int kPatience = 10000;
    bool held_;
};

// These counts are outside the registry, because exit reads them and cannot wait for its lock.
std::atomic<std::uint32_t> g_numbers{0};
std::atomic<std::uint64_t> g_unbound{0};

Registry& registry() {
    static auto* instance = new Registry;
    return *instance;
}

void publish_live(const Registry& all) {
    auto* live = new std::vector<const Model*>;
    for (const std::unique_ptr<Model>& model : all.live)
        live->push_back(model.get());
    g_live.store(live, std::memory_order_release);
}

bool overlap(const LoadedObject& one, const LoadedObject& other) {
    return one.low < other.high && other.low < one.high;
}

/// Retires models whose library was unmapped or replaced.
void retire_gone(Registry& all, const std::vector<LoadedObject>& objects) {
    const auto is_gone = [&objects](const std::unique_ptr<Model>& model) {
        for (const LoadedObject& object : objects) {
            if (object.base == model->object.base && object.path == model->object.path) {
                return !is_still_bound(object);
            }
        }
        return true;
    };
    for (auto model = all.live.begin(); model != all.live.end();) {
        if (!is_gone(*model)) {
            ++model;
            continue;
        }
        retire_slots_of((*model)->number);
        g_by_number[(*model)->number].store(nullptr, std::memory_order_release);
        model->release()->package = {};
        model = all.live.erase(model);
    }
    publish_live(all);
}

Model* find_live(Registry& all, const void* address) {
    for (const std::unique_ptr<Model>& model : all.live) {
        if (model->object.contains(reinterpret_cast<std::uintptr_t>(address))) return model.get();
    }
    return nullptr;
}

void say_once_what_is_missing(const Model& model, const BindingReport& report) {
    if (report.printer_baked_in || model.package.prints_names) {
        message(
            Severity::info,
            "%s was compiled with PyTorch's debug printer. Its lines appear next to those of the library.",
            model.object.path.c_str());
    }
    if (!report.failure.empty()) {
        message(Severity::warn, "%s. Calls of this model are not intercepted.", report.failure.c_str());
    }
    if (report.unknown_prototypes > 0 && !model.package.has_wrapper_source) {
        message(Severity::info,
                "%s has no wrapper source next to it, so the signatures of %zu functions are unknown. The "
                "library copies as much of the caller's stack as they may need.",
                model.object.path.c_str(), report.unknown_prototypes);
    }
}

/// A linked model stays where it was built, so its files are not deleted.
bool is_kept(const Model& model) {
    return options().evidence && !model.linked;
}

TorchLibrary torch_behind(const LoadedObject& object) {
    const void* const shim_function = shim_function_of(object);
    return shim_function == nullptr ? TorchLibrary{} : find_torch_library(shim_function);
}

/// Needs models_mutex. Returns null if there is no number left.
std::unique_ptr<Model> numbered_model(const LoadedObject& object) {
    if (g_numbers == kMostModels) {
        static bool said = false;
        if (!std::exchange(said, true))
            message(Severity::warn,
                    "more than %zu models were loaded. Calls of later models are not intercepted.",
                    kMostModels);
        return nullptr;
    }
    auto model = std::make_unique<Model>();
    model->number = static_cast<std::uint16_t>(g_numbers++);
    model->object = object;
    return model;
}

/// Needs models_mutex.
Model* publish(Registry& all, std::unique_ptr<Model> model) {
    count_in_tally(TallyCount::models);
    g_by_number[model->number].store(model.get(), std::memory_order_release);
    all.live.push_back(std::move(model));
    publish_live(all);
    return all.live.back().get();
}

/// Needs models_mutex.
Model* arrive(Registry& all, const LoadedObject& object, bool linked) {
    std::unique_ptr<Model> model = numbered_model(object);
    if (model == nullptr) return nullptr;
    model->linked = linked;
    model->package = read_package(object.path);
    for (const std::string& op : model->package.proxy_ops) {
        model->proxy_ops.push_back(op.empty() ? nullptr : intern_name(op, {}));
    }
    if (is_kept(*model)) model->torch = torch_behind(object);
    if (!model->package.has_wrapper_source) {
        if (auto lines = read_model_lines(object)) model->parts->add(std::move(lines));
    }
    Inspected inspected;
    for (const CallObserver* const observer : all_call_observers())
        observer->model_loads(object, *model->parts, inspected);
    const BindingReport report = bind_model(object, model->package, model->number, linked, inspected);
    g_unbound += report.unbound;
    say_once_what_is_missing(*model, report);
    return publish(all, std::move(model));
}

/// Returns the path of the source that call lines refer to, or "" if the model has none.
std::string source_of(const Model& model) {
    const ModelLines* const lines = model.parts->find<ModelLines>();
    return lines == nullptr ? std::string() : lines->function.file;
}

void keep_evidence_of(const Model& model) {
    if (is_kept(model)) keep_model_evidence({model.number, model.object.path, model.torch, source_of(model)});
}

const Model* model_with(std::uint16_t number) {
    return number < kMostModels ? g_by_number[number].load(std::memory_order_acquire) : nullptr;
}

/// Needs models_mutex.
void name_unknown_function(const char* name) {
    static auto* const named = new std::set<std::string>;
    if (!named->insert(name).second) return;
    message(
        Severity::info,
        "unknown model function %s: calls of it are not intercepted. If it runs or changes the model, use a "
        "newer aoti-dbg.",
        name);
}

/// Needs models_mutex. Returns the model whose library contains `address`, or null. Sets `arrived` to a model
/// that was unknown before.
Model* model_behind(Registry& all, const void* address, const Model*& arrived) {
    // The loader may have replaced the library with another at the same address since the last check.
    const std::uint64_t unloaded = loader_counts().unloaded;
    Model* model = find_live(all, address);
    if (model == nullptr || model->loads != unloaded) {
        const std::vector<LoadedObject> objects = loaded_objects();
        retire_gone(all, objects);
        model = find_live(all, address);
        for (const LoadedObject& object : objects) {
            if (model != nullptr || !object.contains(reinterpret_cast<std::uintptr_t>(address))) continue;
            model = arrive(all, object, object.is_program);
            arrived = model;
        }
        if (model != nullptr) model->loads = unloaded;
    }
    return model;
}

/// Calls `use` with the model whose library contains `address`, unless there is none.
template <typename Use>
void with_model_behind(const void* address, const char* name, Use use) {
    const int kept_errno = errno;
    try {
        const Model* arrived = nullptr;
        {
            const RegistryLock lock;
            Model* const model = lock.held() ? model_behind(registry(), address, arrived) : nullptr;
            if (model != nullptr) use(*model);
            if (!lock.held())
                message(Severity::warn,
                        "cannot intercept '%s': the dynamic loader and a model wait for each other.", name);
        }
        // Before the first call, the evidence is not kept. That call keeps it.
        const Session* const session = wiped_page().session.load(std::memory_order_acquire);
        if (arrived != nullptr && session != nullptr && session->has_calls()) keep_evidence_of(*arrived);
    } catch (...) {
        switch_off("out of memory while binding a model");
    }
    errno = kept_errno;
}

}  // namespace

void* container_function_found(const char* name, void* found) {
    void* handed_out = found;
    with_model_behind(found, name, [&](const Model& model) {
        const ContainerFunction* const function = find_container_function(name);
        if (function == nullptr) return name_unknown_function(name);
        void* const stub = container_stub(*function, found, model.object, model.number);
        if (stub != nullptr) handed_out = stub;
    });
    return handed_out;
}

std::uint16_t add_model_of(const void* function, const char* name) {
    std::uint16_t number = ring::kNoModel;
    with_model_behind(function, name, [&](const Model& model) { number = model.number; });
    return number;
}

std::uint16_t add_described_model(const std::string& path, std::unique_ptr<Parts> parts) {
    const RegistryLock lock;
    if (!lock.held()) return ring::kNoModel;
    std::unique_ptr<Model> model = numbered_model({});
    if (model == nullptr) return ring::kNoModel;
    model->object.path = path;
    model->parts = std::move(parts);
    count_in_tally(TallyCount::models);
    // No address belongs to it, so the list of live models does not need it. It is never freed.
    const std::uint16_t number = model->number;
    g_by_number[number].store(model.release(), std::memory_order_release);
    return number;
}

void keep_evidence_of_models() {
    const int kept_errno = errno;
    try {
        const auto* live = g_live.load(std::memory_order_acquire);
        if (live != nullptr) {
            for (const Model* model : *live)
                keep_evidence_of(*model);
        }
    } catch (...) {
        message(Severity::warn, "out of memory. The sources of models are not kept.");
    }
    errno = kept_errno;
}

void find_linked_models() {
    const int kept_errno = errno;
    try {
        const RegistryLock lock;
        Registry& all = registry();
        const std::uint64_t loaded = loader_counts().loaded;
        if (lock.held() && all.walked_at != loaded) {
            all.walked_at = loaded;
            const std::vector<LoadedObject> objects = loaded_objects();
            for (const LoadedObject& object : objects) {
                bool known = false;
                for (const std::unique_ptr<Model>& model : all.live)
                    known = known || overlap(model->object, object);
                if (!known && looks_like_model(object)) arrive(all, object, true);
            }
            // Only now are all models known, and other objects may import their Run.
            for (const LoadedObject& object : objects)
                bind_container_imports(object);
        }
    } catch (...) {
        switch_off("out of memory while searching for models");
    }
    errno = kept_errno;
}

std::uint16_t model_at(const void* address) {
    const auto* live = g_live.load(std::memory_order_acquire);
    if (live == nullptr) return ring::kNoModel;
    for (const Model* model : *live) {
        if (model->object.contains(reinterpret_cast<std::uintptr_t>(address))) return model->number;
    }
    return ring::kNoModel;
}

ModelCode code_of_model(std::uint16_t number) {
    const Model* const model = model_with(number);
    if (model == nullptr) return {number, 0, 0};
    return {number, model->object.low, model->object.high - model->object.low};
}

std::string model_path(std::uint16_t number) {
    const Model* model = model_with(number);
    return model == nullptr ? std::string() : model->object.path;
}

const Name* proxy_op_name(std::uint16_t number, std::uint64_t index) {
    static const Name* const unknown = intern_name("proxy executor op", {});
    const Model* model = model_with(number);
    if (model == nullptr || index >= model->proxy_ops.size()) return unknown;
    return model->proxy_ops[index] != nullptr ? model->proxy_ops[index] : unknown;
}

const Name* launched_kernel_name(std::uint16_t number, std::string_view cubin, std::string_view function) {
    const RegistryLock lock;
    const TritonKernel* only = nullptr;
    std::size_t candidates = 0;
    if (const Model* model = model_with(number); lock.held() && model != nullptr) {
        for (const TritonKernel& kernel : model->package.triton_kernels) {
            if (kernel.function != function) continue;
            if (!cubin.empty() && kernel.cubin == cubin) return intern_name(kernel.name, function);
            only = &kernel;
            ++candidates;
        }
    }
    return candidates == 1 ? intern_name(only->name, function) : intern_name(function, {});
}

[[gnu::hot]] const Parts* model_parts(std::uint16_t number) {
    const Model* model = model_with(number);
    return model == nullptr ? nullptr : model->parts.get();
}

ModelCounts count_models() {
    return {g_numbers, g_unbound};
}

}  // namespace aoti_dbg

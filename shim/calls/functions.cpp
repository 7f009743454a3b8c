#include "shim/calls/functions.hpp"

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/readable_symbol.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/driver_api.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {

std::atomic<std::uint64_t> g_functions_epoch{1};

namespace {

struct LearnedFunction {
    const Name* name;
    const void* owner;  // module or library; null: the driver supplied the name, so the owner is unknown
};

struct Learned {
    std::unordered_map<const void*, LearnedFunction> functions;
    std::unordered_map<const void*, std::string>
        cubins;  // module -> file name of its image, without folder and extension
};

Learned& learned() {
    static auto* instance = new Learned;
    return *instance;
}

std::string bare_file_name(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
    return std::string(file.substr(0, file.find('.')));
}

const Name* name_of_symbol(std::string_view symbol) {
    return intern_name(readable_symbol(symbol), symbol);
}

template <typename Handle>
bool names(const OwnDriverFunction<CUresult (*)(const char**, Handle)>& get, const void* function,
           const char*& symbol) {
    return get != nullptr && get(&symbol, static_cast<Handle>(const_cast<void*>(function))) == CUDA_SUCCESS &&
           symbol != nullptr;
}

/// Both functions turn a handle into a name. Which one knows the handle depends on its origin.
const Name* ask_driver(const void* function) {
    const DriverApi* const api = driver_api();
    const char* symbol = nullptr;
    const bool is_named =
        api != nullptr && function != nullptr &&
        (names(api->cuFuncGetName, function, symbol) || names(api->cuKernelGetName, function, symbol));
    return is_named ? name_of_symbol(symbol) : intern_name("unknown kernel", {});
}

const Name* look_up(const void* function) {
    {
        const std::lock_guard lock(wiped_page().functions_mutex);
        const auto& functions = learned().functions;
        if (const auto found = functions.find(function); found != functions.end()) return found->second.name;
    }
    const Name* name = ask_driver(function);
    const std::lock_guard lock(wiped_page().functions_mutex);
    learned().functions.emplace(function, LearnedFunction{name, nullptr});
    return name;
}

template <typename Map, typename Predicate>
void erase_where(Map& map, Predicate goes) {
    for (auto entry = map.begin(); entry != map.end();)
        entry = goes(*entry) ? map.erase(entry) : std::next(entry);
}

}  // namespace

void learn_module(const void* module, std::string_view path) {
    const std::lock_guard lock(wiped_page().functions_mutex);
    learned().cubins[module] = bare_file_name(path);
}

void learn_function(const void* function, const void* owner, std::string_view symbol, const void* caller) {
    const std::uint16_t model = model_at(caller);
    std::string cubin;
    {
        const std::lock_guard lock(wiped_page().functions_mutex);
        const auto& cubins = learned().cubins;
        if (const auto found = cubins.find(owner); found != cubins.end()) cubin = found->second;
    }
    const Name* name =
        model == ring::kNoModel ? name_of_symbol(symbol) : launched_kernel_name(model, cubin, symbol);
    const std::lock_guard lock(wiped_page().functions_mutex);
    learned().functions[function] = LearnedFunction{name, owner};
    g_functions_epoch.fetch_add(1, std::memory_order_release);
}

void learn_same(const void* function, const void* kernel) {
    const std::lock_guard lock(wiped_page().functions_mutex);
    auto& functions = learned().functions;
    if (const auto found = functions.find(kernel); found != functions.end())
        functions[function] = found->second;
    g_functions_epoch.fetch_add(1, std::memory_order_release);
}

void forget_owner(const void* owner) {
    const std::lock_guard lock(wiped_page().functions_mutex);
    Learned& all = learned();
    erase_where(all.functions, [owner](const auto& entry) {
        return entry.second.owner == owner || entry.second.owner == nullptr;
    });
    all.cubins.erase(owner);
    g_functions_epoch.fetch_add(1, std::memory_order_release);
}

void forget_all() {
    const std::lock_guard lock(wiped_page().functions_mutex);
    learned().functions.clear();
    learned().cubins.clear();
    g_functions_epoch.fetch_add(1, std::memory_order_release);
}

const Name* look_up_function_name(ThreadState& state, const void* function) {
    const std::uint64_t epoch = g_functions_epoch.load(std::memory_order_acquire);
    CachedFunction& cached = state.functions[place_of_function(function)];
    cached = {function, epoch, look_up(function)};
    return cached.name;
}

}  // namespace aoti_dbg

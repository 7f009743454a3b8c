#include "shim/runtime/names.hpp"

#include <deque>
#include <mutex>
#include <unordered_map>

#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

// Longer names are truncated for printing, because templates of library kernels reach tens of kilobytes.
constexpr std::size_t kLongestName = 1000;

struct KernelNames {
    std::deque<Name> names;  // a deque keeps addresses stable
    std::unordered_map<std::string, const Name*> by_key;
};

KernelNames& kernel_names() {
    static auto* instance = new KernelNames;  // never destroyed: threads outlive static destruction
    return *instance;
}

}  // namespace

const Name* intern_name(std::string_view printed, std::string_view symbol) {
    std::string key;
    key.reserve(printed.size() + symbol.size() + 1);
    key.append(printed).push_back('\0');
    key.append(symbol);

    const std::lock_guard lock(wiped_page().names_mutex);
    KernelNames& all = kernel_names();
    if (const auto found = all.by_key.find(key); found != all.by_key.end()) return found->second;

    std::string shown(printed.substr(0, kLongestName));
    if (shown.size() < printed.size()) shown += "...";
    all.names.push_back(Name{static_cast<std::uint32_t>(all.names.size()),
                             treatment_of(options(), printed, symbol), shown,
                             "[ before_launch: " + shown + " ]\n", "[ after_launch: " + shown + " ]\n"});
    const Name* made = &all.names.back();
    all.by_key.emplace(std::move(key), made);
    return made;
}

const Name* name_by_id(std::uint32_t id) {
    const std::lock_guard lock(wiped_page().names_mutex);
    const KernelNames& all = kernel_names();
    return id < all.names.size() ? &all.names[id] : nullptr;
}

}  // namespace aoti_dbg

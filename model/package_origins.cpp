#include "model/package_origins.hpp"

#include <algorithm>
#include <string>

namespace aoti_dbg {
namespace {

/// Makes names of one op comparable: "torch.ops.mylib.my_op.default" and "mylib::my_op".
std::string plain_name(std::string_view name) {
    constexpr std::string_view kOps = "torch.ops.";
    constexpr std::string_view kDefault = ".default";
    if (name.starts_with(kOps)) name.remove_prefix(kOps.size());
    if (name.ends_with(kDefault)) name.remove_suffix(kDefault.size());
    std::string plain;
    for (std::size_t at = 0; at < name.size(); ++at) {
        const bool is_scope = name.substr(at, 2) == "::";
        plain.push_back(is_scope ? '.' : name[at]);
        at += is_scope ? 1 : 0;
    }
    return plain;
}

/// True if a key names an op without its library, as for custom ops: "aoti_torch_cpu_my_op" of "mylib.my_op".
bool is_shim_of(std::string_view name, std::string_view op) {
    constexpr std::string_view kShim = "aoti_torch_";
    const std::size_t library = op.find('.');
    const std::size_t device = name.find('_', kShim.size());
    return name.starts_with(kShim) && device != std::string_view::npos && library != std::string_view::npos &&
           name.substr(device + 1) == op.substr(library + 1);
}

}  // namespace

bool is_key_of(std::string_view key, std::string_view kernel, std::string_view symbol) {
    const std::size_t colon = key.rfind(':');
    if (colon == std::string_view::npos) return false;
    const std::string name = plain_name(key.substr(0, colon));
    const std::string op = plain_name(kernel);
    return name == op || (!symbol.empty() && name == plain_name(symbol)) || is_shim_of(name, op);
}

PackageOrigins::PackageOrigins(const WrapperInfo& info) : info_(info) {
    // A file that lacks a handle of the wrapper belongs to another build.
    is_its_ = info.is_complete && std::ranges::all_of(info.run.sites, [&](const CallSite& site) {
                  return site.provenance.empty() || info.origins.contains(site.provenance);
              });
}

const KernelOrigin* PackageOrigins::of(const CallSite& site, std::string_view kernel,
                                       std::string_view symbol) const {
    if (!is_its_ || !is_key_of(site.provenance, kernel, symbol)) return nullptr;
    const auto found = info_.origins.find(site.provenance);
    return found == info_.origins.end() ? nullptr : &found->second;
}

}  // namespace aoti_dbg

#include "cli/trace/model_names.hpp"

#include <string_view>

#include "base/compiled_function.hpp"

namespace aoti_dbg::cli {
namespace {

std::string model_of_run(std::string_view name) {
    constexpr std::string_view kRunOf = "run of ";
    return std::string(name.starts_with(kRunOf) ? name.substr(kRunOf.size()) : compiled_run_of(name).title);
}

}  // namespace

ModelNames::ModelNames(const ring::Contents* ring) {
    if (ring == nullptr) return;
    for (const ring::Thread& thread : ring->threads)
        for (const ring::Record& record : thread.records)
            if (record.kind == ring::CallKind::run && !names_.contains(record.model))
                names_[record.model] = model_of_run(ring->name(record.name));
}

std::string ModelNames::of(std::uint32_t model) const {
    const auto known = names_.find(model);
    if (known != names_.end() && !known->second.empty()) return known->second;
    return model == ~0U || model == ring::kNoModel ? "model" : "model " + std::to_string(model);
}

}  // namespace aoti_dbg::cli

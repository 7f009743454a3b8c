// The tables that rows refer to: models, kernels, call sites, arguments and layouts. Facts with other numbers
// can be equal, because a file may define them again.
#include <algorithm>

#include "base/fnv.hpp"
#include "cli/page/page_rows.hpp"
#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg::cli {
namespace {

/// Returns kNoIndex32 if it is not in the map.
template <typename Map>
std::uint32_t index_in(const Map& map, const typename Map::key_type& key) {
    const auto found = map.find(key);
    return found == map.end() ? kNoIndex32 : found->second;
}

template <typename Table>
std::uint32_t last_of(const Table& table) {
    return static_cast<std::uint32_t>(table.size() - 1);
}

/// A hash stands for what it is computed from.
class Key {
  public:
    Key& add(std::uint64_t number) {
        hash_ = fnv1a(number, hash_);
        return *this;
    }
    Key& add(std::string_view text) {
        hash_ = fnv1a(text, fnv1a(text.size(), hash_));
        return *this;
    }
    [[nodiscard]] std::uint64_t hash() const { return hash_; }

  private:
    std::uint64_t hash_ = kFnvBegin;
};

/// Returns the bytes from the first element to the end of the last, or 0 if they are unknown.
std::uint64_t extent_of(const TensorFacts& facts, std::uint64_t bytes, std::uint64_t element) {
    if (facts.is_contiguous || facts.strides.size() != facts.sizes.size() || bytes == 0) return bytes;
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < facts.sizes.size(); ++i) {
        std::uint64_t step = 0;
        if (facts.sizes[i] < 1 || facts.strides[i] < 0 ||
            __builtin_mul_overflow(static_cast<std::uint64_t>(facts.sizes[i] - 1),
                                   static_cast<std::uint64_t>(facts.strides[i]), &step) ||
            __builtin_add_overflow(last, step, &last) || last > (std::uint64_t{1} << 48U))
            return bytes;
    }
    return (last + 1) * element;
}

}  // namespace

std::string cut_name(const std::string& name) {
    return name.substr(0, kLongestName);
}

std::vector<std::string> cut_list(const std::vector<std::string>& names) {
    constexpr std::size_t kMostNames = 100;
    std::vector<std::string> cut;
    for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i)
        cut.push_back(cut_name(names[i]));
    if (names.size() > kMostNames)
        cut.push_back("and " + std::to_string(names.size() - kMostNames) + " more");
    return cut;
}

void PageRows::begin_process(std::uint32_t process) {
    process_ = process;
    model_by_number_.clear();
    known_sites_.clear();
    known_arguments_.clear();
    sequences.clear();
    sequences.shrink_to_fit();
}

std::uint32_t PageRows::model_index(std::uint32_t number) {
    if (number == ~0U) return kNoIndex32;
    constexpr std::size_t kMostModels = 4096;
    const std::uint32_t known = index_in(model_by_number_, number);
    if (known != kNoIndex32 || models.size() == kMostModels) return known;
    models.push_back({{}, process_, number, {}});
    return model_by_number_[number] = last_of(models);
}

std::uint32_t PageRows::new_kernel(std::string_view name, std::string_view kind) {
    const std::uint64_t key = Key().add(kind).add(name).hash();
    const std::uint32_t known = index_in(kernel_by_key_, key);
    if (known != kNoIndex32) return known;
    PageKernel& kernel = kernels.emplace_back();
    kernel.name = name.substr(0, kLongestName);
    kernel.kind = kind;
    return kernel_by_key_[key] = last_of(kernels);
}

std::uint32_t PageRows::site_index(const SiteFacts& facts, std::uint32_t model) {
    if (const KnownSite* const known = known_sites_.find(facts.number);
        known != nullptr && known->model == model)
        return known->site;
    const std::uint64_t key = Key()
                                  .add(process_)
                                  .add(model)
                                  .add(facts.site)
                                  .add(facts.line)
                                  .add(facts.kernel)
                                  .add(facts.symbol)
                                  .add(facts.kind)
                                  .add(facts.source)
                                  .hash();
    std::uint32_t index = index_in(site_by_key_, key);
    if (index == kNoIndex32) {
        if (sites.size() == kMostSites) return kNoIndex32;
        index = site_by_key_[key] = static_cast<std::uint32_t>(sites.size());
        PageSite& site = sites.emplace_back();
        site.model = model;
        site.line = facts.line;
        site.source = cut_name(facts.source);
        site.source_nodes = cut_list(facts.source_nodes);
        site.aten = cut_list(facts.original_aten);
        site.python = cut_list(facts.python_stack);
        site.kernel = new_kernel(facts.kernel, facts.kind);
    }
    known_sites_.make_room();
    known_sites_.add(facts.number) = {model, index};
    return index;
}

std::uint32_t PageRows::end_site(std::uint32_t model, EventSide side) {
    const bool is_begin = side == EventSide::inputs;
    const std::uint64_t key =
        std::uint64_t{process_} << 33U | std::uint64_t{model} << 1U | (is_begin ? 1 : 0);
    const std::uint32_t known = index_in(end_sites_, key);
    if (known != kNoIndex32) return known;
    SiteFacts facts;
    facts.kernel = is_begin ? "aoti_model_inputs" : "aoti_model_outputs";
    facts.kind = is_begin ? "inputs" : "outputs";
    return end_sites_[key] = site_index(facts, model);
}

std::uint32_t PageRows::argument_index(const ArgumentFacts& facts, std::uint32_t site) {
    if (const KnownArgument* const known = known_arguments_.find(facts.number);
        known != nullptr && known->site == site)
        return known->argument;
    std::vector<SiteArgument>& all = sites[site].arguments;
    const std::string label = cut_name(facts.label);
    const std::string parameter = cut_name(facts.parameter);
    const auto found = std::ranges::find_if(all, [&](const SiteArgument& one) {
        return one.label == label && one.parameter == parameter && one.role == facts.role;
    });
    const auto index = static_cast<std::uint32_t>(found - all.begin());
    if (found == all.end()) {
        // Most calls have few arguments, and doubling the room would waste much of the memory of all rows.
        if (all.size() == all.capacity()) all.reserve(all.size() + 1 + all.size() / 4);
        all.push_back({label, cut_name(facts.original_fqn), parameter, facts.role, facts.position});
    }
    known_arguments_.make_room();
    known_arguments_.add(facts.number) = {site, index};
    return index;
}

std::uint32_t PageRows::dtype_index(const std::string& dtype) {
    const std::uint32_t known = index_in(dtype_by_text_, dtype);
    if (known != kNoIndex32) return known;
    dtypes.push_back(cut_name(dtype));
    return dtype_by_text_[dtype] = last_of(dtypes);
}

std::uint32_t PageRows::layout_index(const TensorFacts& facts) {
    constexpr std::size_t kMostLayouts = 100'000;
    if (const std::uint32_t* const known = known_layouts_.find(facts.number)) return *known;
    Key parts;
    parts.add(facts.dtype).add(facts.device).add(facts.sizes_known ? 1 : 0).add(facts.sizes.size());
    for (const std::int64_t size : facts.sizes)
        parts.add(static_cast<std::uint64_t>(size));
    for (const std::int64_t stride : facts.strides)
        parts.add(static_cast<std::uint64_t>(stride));
    const std::uint64_t key = parts.hash();
    std::uint32_t index = index_in(layout_by_key_, key);
    if (index == kNoIndex32) {
        if (layouts.size() == kMostLayouts) {
            ++layouts_beyond;
            return kNoIndex32;
        }
        index = layout_by_key_[key] = static_cast<std::uint32_t>(layouts.size());
        PageLayout layout;
        layout.facts = facts;
        layout.dtype = dtype_index(facts.dtype);
        if (facts.sizes_known && facts.dtype == dtype_name(facts.measured_dtype)) {
            const std::uint64_t element = element_size(facts.measured_dtype);
            layout.bytes = element_count(facts.sizes) * element;
            layout.extent = extent_of(facts, layout.bytes, element);
        }
        layouts.push_back(std::move(layout));
    }
    known_layouts_.make_room();
    known_layouts_.add(facts.number) = index;
    return index;
}

}  // namespace aoti_dbg::cli

#include "shim/tensors/created_tensor.hpp"

#include <cstring>
#include <optional>

#include "shim/tensors/measured_model.hpp"

namespace aoti_dbg {
namespace {

/// Returns the bytes up to the last element, or 0 if the tensor is not on a GPU or its size is unknown.
std::uint64_t bytes_of(const ShimApi& api, const MakeArguments& made) {
    const std::optional<DType> dtype = api.dtype_of(made.dtype);
    if (made.device_type != api.cuda || !dtype) return 0;
    const std::optional<std::uint64_t> elements = reach({made.sizes, made.rank}, {made.strides, made.rank});
    return elements.value_or(0) * element_size(*dtype);
}

}  // namespace

void set_name(std::string_view name, tensors::Slot& slot) {
    constexpr std::string_view kCut = "..";
    memcpy(slot.name, name.data(), std::min(name.size(), sizeof slot.name));
    if (name.size() > sizeof slot.name)
        memcpy(slot.name + sizeof slot.name - kCut.size(), kCut.data(), kCut.size());
}

void find_out(const MeasuredModel& model, const RunTensors& tensors, std::uint32_t since_site,
              const MakeArguments& made, CreatedBefore& found) {
    found = {};
    found.site = tensors.site;
    found.since_site = since_site;
    found.is_placed = tensors.is_placed;
    found.dtype = made.dtype;
    found.device_type = made.device_type;
    found.rank = made.rank;
    if (made.rank <= CreatedBefore::kMostRank) {
        std::copy_n(made.sizes, made.rank, found.sizes.begin());
        std::copy_n(made.strides, made.rank, found.strides.begin());
    }
    found.slot.bytes = bytes_of(model.api(), made);
    if (tensors.is_placed)
        found.named = tensors.names->find(tensors.site, since_site, {made.sizes, made.rank});
    if (found.named != nullptr) set_name(found.named->name, found.slot);
}

}  // namespace aoti_dbg

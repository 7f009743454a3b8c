#include "model/body_memory.hpp"

#include <utility>

namespace aoti_dbg {

bool BodyMemory::is_known(std::string_view name) const {
    return variables_.is_tensor(name) || pools_.find(name) != pools_.end();
}

void BodyMemory::allocate(std::string_view name, Allocation allocation) {
    variables_.declare_tensor(name);
    if (!keeper_.allows(body_.allocations.size(), kMaxNames)) return;
    allocation.name = keeper_.keep(name);
    allocation.before = position();
    allocation.region = flow_.region();
    body_.allocations.push_back(std::move(allocation));
}

void BodyMemory::take_from_pool(std::string_view handle, const Allocation& piece) {
    if (keeper_.allows(pools_.size(), kMaxNames)) pools_[handle] = piece;
}

bool BodyMemory::name_piece(std::string_view handle, std::string_view name) {
    const auto piece = pools_.find(handle);
    if (piece == pools_.end()) return false;
    allocate(name, piece->second);
    return true;
}

void BodyMemory::share(std::string_view name, const TensorName& of, SharedMemory::How how) {
    variables_.declare_tensor(name);
    if (of.name == name || !keeper_.allows(body_.shared_memory.size(), kMaxNames)) return;
    if (of.view) how = SharedMemory::How::view;
    body_.shared_memory.push_back({keeper_.keep(name), keeper_.keep(of.name), how, position(), of.view});
}

void BodyMemory::free(std::string_view name) {
    if (keeper_.allows(body_.frees.size(), kMaxNames))
        body_.frees.push_back({keeper_.keep(name), position()});
}

void BodyMemory::set_input(std::size_t at, std::string_view name) {
    if (!keeper_.allows(at, kMaxPositions)) return;
    if (body_.inputs.size() <= at) body_.inputs.resize(at + 1);
    body_.inputs[at] = keeper_.keep(name);
}

void BodyMemory::set_output(std::size_t at, TensorName tensor) {
    if (!keeper_.allows(at, kMaxPositions)) return;
    if (body_.outputs.size() <= at) body_.outputs.resize(at + 1);
    body_.outputs[at] = std::move(tensor);
}

}  // namespace aoti_dbg

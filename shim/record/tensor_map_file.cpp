#include "shim/record/tensor_map_file.hpp"

#include <unistd.h>

#include <bit>
#include <utility>

#include "shim/record/mapped_entry.hpp"

namespace aoti_dbg {

TensorMapFile::TensorMapFile(PreallocatedFile file, char* mapped, std::size_t slots)
    : file_(std::move(file)), mapped_(mapped), slots_(slots) {}

Result<std::unique_ptr<TensorMapFile>> TensorMapFile::create(const std::string& path, std::size_t slots) {
    slots = std::bit_ceil(slots);
    char* mapped = nullptr;
    Result<PreallocatedFile> file =
        PreallocatedFile::create(path, whole_pages(tensors::kPage + slots * sizeof(tensors::Slot)), mapped);
    if (!file.ok()) return file.status();
    auto& header = *reinterpret_cast<tensors::FileHeader*>(mapped);
    header.version = tensors::kVersion;
    header.slot_bytes = sizeof(tensors::Slot);
    header.pid = static_cast<std::uint32_t>(getpid());
    header.slots = static_cast<std::uint32_t>(slots);
    publish(header.magic, tensors::kMagic);
    return std::unique_ptr<TensorMapFile>(new TensorMapFile(std::move(file.value()), mapped, slots));
}

[[gnu::hot]] void TensorMapFile::end(std::uint64_t number, tensors::End end, std::uint64_t sequence) {
    tensors::Slot& slot = slot_of(number);
    if (__atomic_load_n(&slot.number, __ATOMIC_RELAXED) != number) return;
    slot.end = end;
    slot.end_sequence = sequence;
    publish(slot.ended, number);
}

}  // namespace aoti_dbg

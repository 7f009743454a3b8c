#include "shim/record/tensor_map_file.hpp"

#include <unistd.h>

#include <bit>
#include <utility>

#include "shim/record/mapped_entry.hpp"

namespace aoti_dbg {

using tensors::FileHeader;
using tensors::Slot;

TensorMapFile::TensorMapFile(PreallocatedFile file, char* mapped, std::size_t slots)
    : file_(std::move(file)), mapped_(mapped), slots_(slots) {}

FileHeader& TensorMapFile::header() const {
    return *reinterpret_cast<FileHeader*>(mapped_);
}

Slot& TensorMapFile::slot_of(std::uint64_t number) const {
    return reinterpret_cast<Slot*>(mapped_ + tensors::kPage)[(number - 1) & (slots_ - 1)];
}

Result<std::unique_ptr<TensorMapFile>> TensorMapFile::create(const std::string& path, std::size_t slots) {
    slots = std::bit_ceil(slots);
    char* mapped = nullptr;
    Result<PreallocatedFile> file =
        PreallocatedFile::create(path, whole_pages(tensors::kPage + slots * sizeof(Slot)), mapped);
    if (!file.ok()) return file.status();
    auto& header = *reinterpret_cast<FileHeader*>(mapped);
    header.version = tensors::kVersion;
    header.slot_bytes = sizeof(Slot);
    header.pid = static_cast<std::uint32_t>(getpid());
    header.slots = static_cast<std::uint32_t>(slots);
    publish(header.magic, tensors::kMagic);
    return std::unique_ptr<TensorMapFile>(new TensorMapFile(std::move(file.value()), mapped, slots));
}

[[gnu::hot]] std::uint64_t TensorMapFile::add(const Slot& tensor) {
    const std::uint64_t number = __atomic_add_fetch(&header().made, 1, __ATOMIC_RELAXED);
    write_entry(slot_of(number), tensor, number);
    const Slot& next = slot_of(number + 1);
    expect_to_write(&next);
    expect_to_write(&next.name);
    return number;
}

[[gnu::hot]] void TensorMapFile::end(std::uint64_t number, tensors::End end, std::uint64_t sequence) {
    Slot& slot = slot_of(number);
    if (__atomic_load_n(&slot.number, __ATOMIC_RELAXED) != number) return;
    slot.end = end;
    slot.end_sequence = sequence;
    publish(slot.ended, number);
}

}  // namespace aoti_dbg

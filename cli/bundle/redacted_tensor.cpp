#include "cli/bundle/redacted_tensor.hpp"

#include "cli/bundle/random_contents.hpp"
#include "serializer/crc32.hpp"

namespace aoti_dbg::cli {
namespace {

PtFrame frame_of(const PtView& view, std::uint32_t crc) {
    return pt_frame({view.dtype, view.sizes, view.strides, view.storage_offset, view.storage.size(),
                     view.device, view.bits},
                    crc);
}

}  // namespace

Result<std::uint64_t> redacted_bytes(std::span<const std::byte> file) {
    const Result<PtView> view = read_pt(file, PtCheck::all_but_checksums);
    if (!view.ok()) return view.status();
    const PtFrame frame = frame_of(view.value(), 0);
    return frame.head.size() + view.value().storage.size() + frame.tail.size();
}

Result<RedactedTensor> redacted_tensor(std::span<const std::byte> file, std::uint64_t seed) {
    const Result<PtView> view = read_pt(file);
    if (!view.ok()) return view.status();
    RedactedTensor tensor;
    tensor.storage = random_contents(view.value(), seed);
    tensor.frame = frame_of(view.value(), crc32(0, tensor.storage));
    return tensor;
}

}  // namespace aoti_dbg::cli

// Works like an odometer over the dimensions: the innermost advances and the others carry.
#include "stats_kernels/logical_walk.hpp"

#include <cstring>

namespace aoti_dbg {

namespace {

/// A size known at compile time becomes a plain load and store.
template <std::size_t kBytes>
void copy_strided(const unsigned char* from, std::int64_t stride_bytes, std::int64_t count,
                  unsigned char* to) {
    for (std::int64_t i = 0; i < count; ++i)
        std::memcpy(to + i * static_cast<std::int64_t>(kBytes), from + i * stride_bytes, kBytes);
}

void copy_run(const unsigned char* from, std::uint32_t bytes, std::int64_t stride, std::int64_t count,
              unsigned char* to) {
    const std::int64_t stride_bytes = stride * static_cast<std::int64_t>(bytes);
    if (stride == 1) {
        std::memcpy(to, from, static_cast<std::size_t>(count) * bytes);
        return;
    }
    switch (bytes) {
        case 1:
            return copy_strided<1>(from, stride_bytes, count, to);
        case 2:
            return copy_strided<2>(from, stride_bytes, count, to);
        case 4:
            return copy_strided<4>(from, stride_bytes, count, to);
        case 8:
            return copy_strided<8>(from, stride_bytes, count, to);
        default:
            return copy_strided<16>(from, stride_bytes, count, to);
    }
}

}  // namespace

LogicalWalk::LogicalWalk(const void* data, std::uint32_t element_bytes, const Layout& layout,
                         std::uint64_t begin)
    : at_(static_cast<const unsigned char*>(data)), element_bytes_(element_bytes), layout_(layout) {
    for (std::uint32_t d = layout.rank; d-- > 0;) {
        const auto size = static_cast<std::uint64_t>(layout.sizes[d]);
        index_[d] = static_cast<std::int64_t>(begin % size);
        begin /= size;
        at_ += index_[d] * layout.strides[d] * static_cast<std::int64_t>(element_bytes);
    }
}

void LogicalWalk::gather(std::uint32_t count, unsigned char* to) {
    if (layout_.rank == 0) {  // a single element
        std::memcpy(to, at_, element_bytes_);
        return;
    }
    const std::uint32_t inner = layout_.rank - 1;
    const std::int64_t stride = layout_.strides[inner];
    std::int64_t left = count;
    while (left > 0) {
        const std::int64_t in_row = layout_.sizes[inner] - index_[inner];
        const std::int64_t run = in_row < left ? in_row : left;
        copy_run(at_, element_bytes_, stride, run, to);
        to += static_cast<std::size_t>(run) * element_bytes_;
        left -= run;
        at_ += run * stride * static_cast<std::int64_t>(element_bytes_);
        index_[inner] += run;
        if (index_[inner] == layout_.sizes[inner]) carry();
    }
}

/// Call this when the innermost index reaches its size. After the last element all indices are zero again.
void LogicalWalk::carry() {
    for (std::uint32_t d = layout_.rank - 1;; --d) {
        at_ -= index_[d] * layout_.strides[d] * static_cast<std::int64_t>(element_bytes_);
        index_[d] = 0;
        if (d == 0) return;
        ++index_[d - 1];
        at_ += layout_.strides[d - 1] * static_cast<std::int64_t>(element_bytes_);
        if (index_[d - 1] < layout_.sizes[d - 1]) return;
    }
}

}  // namespace aoti_dbg

// The memory that copies of rows access: the first row of each side that has an address.
#include "shim/hooks/copy_ranges.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg::copy_ranges_test {
namespace {

/// A copy from (1, 2, 3) to (4, 5, 6), of 7 bytes by 8 rows and 9 slices. Types without slices or rows ignore
/// those.
template <typename Copy>
Copy copy_of_rows() {
    Copy copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcDevice = 0x10000;
    copy.dstDevice = 0x20000;
    copy.srcPitch = 100;
    copy.dstPitch = 200;
    copy.srcXInBytes = 1;
    copy.srcY = 2;
    copy.dstXInBytes = 4;
    copy.dstY = 5;
    copy.WidthInBytes = 7;
    copy.Height = 8;
    return copy;
}

template <typename Copy>
Copy copy_of_slices() {
    auto copy = copy_of_rows<Copy>();
    copy.srcZ = 3;
    copy.srcHeight = 10;
    copy.dstZ = 6;
    copy.dstHeight = 20;
    copy.Depth = 9;
    return copy;
}

void check(const MemoryRange& range, CUdeviceptr address, std::size_t bytes) {
    CHECK(range.address == address);
    CHECK(range.bytes == bytes);
}

TEST_CASE("A copy of rows reads and writes from the start of its first row") {
    const auto rows = copy_of_rows<CUDA_MEMCPY2D>();
    const CopyRanges ranges = ranges_of(&rows);
    check(ranges.read, 0x10000 + 2 * 100 + 1, 7);
    check(ranges.written, 0x20000 + 5 * 200 + 4, 7);
    CHECK_FALSE(ranges.is_between_peers);
}

TEMPLATE_TEST_CASE("A copy of slices starts in its first slice, between peers too", "", CUDA_MEMCPY3D,
                   CUDA_MEMCPY3D_PEER) {
    const auto slices = copy_of_slices<TestType>();
    const CopyRanges ranges = ranges_of(&slices);
    check(ranges.read, 0x10000 + (3 * 10 + 2) * 100 + 1, 7);
    check(ranges.written, 0x20000 + (6 * 20 + 5) * 200 + 4, 7);
    CHECK(between_peers(copies(&slices)).memory.is_between_peers);
}

TEST_CASE("A copy without rows, one of an array and one of host memory touch nothing") {
    auto rows = copy_of_rows<CUDA_MEMCPY2D>();
    rows.Height = 0;
    CHECK(ranges_of(&rows).read.bytes + ranges_of(&rows).written.bytes == 0);
    auto slices = copy_of_slices<CUDA_MEMCPY3D>();
    slices.Depth = 0;
    CHECK(ranges_of(&slices).read.bytes + ranges_of(&slices).written.bytes == 0);
    slices.Depth = 1;
    slices.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    slices.dstMemoryType = CU_MEMORYTYPE_HOST;
    CHECK(ranges_of(&slices).read.bytes + ranges_of(&slices).written.bytes == 0);
    CHECK(ranges_of(static_cast<const CUDA_MEMCPY2D*>(nullptr)).read.bytes == 0);
    CHECK(ranges_of(static_cast<const CUDA_MEMCPY3D*>(nullptr)).read.bytes == 0);
}

TEST_CASE("A copy's target depends on its kind of memory") {
    auto rows = copy_of_rows<CUDA_MEMCPY2D>();
    CHECK(target_of(&rows) == 0x20000);
    char host = 0;
    rows.dstMemoryType = CU_MEMORYTYPE_HOST;
    rows.dstHost = &host;
    CHECK(target_of(&rows) == reinterpret_cast<CUdeviceptr>(&host));
    CHECK(target_of(static_cast<const CUDA_MEMCPY3D*>(nullptr)) == 0);
}

}  // namespace
}  // namespace aoti_dbg::copy_ranges_test

// Compares our declarations of CUPTI with the vendor's header. Compiled only where that header exists.
#include <cupti_activity.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <cupti_version.h>

#include <cstddef>
#include <span>

#include "shim/timeline/cupti_api.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::cupti::cupti_layout_test {
namespace {

#if CUPTI_API_VERSION >= 130000
using VendorKernel = CUpti_ActivityKernel10;
#else
using VendorKernel = CUpti_ActivityKernel9;
#endif

#define AOTI_DBG_SAME(ours, our_member, theirs, their_member)                    \
    static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member)); \
    static_assert(sizeof(ours::our_member) == sizeof(theirs::their_member))

#define AOTI_DBG_SAME_WORK(ours, theirs)           \
    AOTI_DBG_SAME(ours, kind, theirs, kind);       \
    AOTI_DBG_SAME(ours, start, theirs, start);     \
    AOTI_DBG_SAME(ours, end, theirs, end);         \
    AOTI_DBG_SAME(ours, device, theirs, deviceId); \
    AOTI_DBG_SAME(ours, stream, theirs, streamId); \
    AOTI_DBG_SAME(ours, correlation, theirs, correlationId)

AOTI_DBG_SAME_WORK(Kernel, VendorKernel);
AOTI_DBG_SAME(Kernel, name, VendorKernel, name);
AOTI_DBG_SAME_WORK(Copy, CUpti_ActivityMemcpy6);
AOTI_DBG_SAME(Copy, bytes, CUpti_ActivityMemcpy6, bytes);
AOTI_DBG_SAME_WORK(CopyBetweenDevices, CUpti_ActivityMemcpyPtoP4);
AOTI_DBG_SAME(CopyBetweenDevices, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
AOTI_DBG_SAME_WORK(Set, CUpti_ActivityMemset4);
AOTI_DBG_SAME(Set, bytes, CUpti_ActivityMemset4, bytes);
AOTI_DBG_SAME(ApiCall, function, CUpti_ActivityAPI, cbid);
AOTI_DBG_SAME(ApiCall, start, CUpti_ActivityAPI, start);
AOTI_DBG_SAME(ApiCall, end, CUpti_ActivityAPI, end);
AOTI_DBG_SAME(ApiCall, thread, CUpti_ActivityAPI, threadId);
AOTI_DBG_SAME(ApiCall, correlation, CUpti_ActivityAPI, correlationId);

static_assert(static_cast<int>(Kind::copy) == CUPTI_ACTIVITY_KIND_MEMCPY);
static_assert(static_cast<int>(Kind::set) == CUPTI_ACTIVITY_KIND_MEMSET);
static_assert(static_cast<int>(Kind::driver_api) == CUPTI_ACTIVITY_KIND_DRIVER);
static_assert(static_cast<int>(Kind::runtime_api) == CUPTI_ACTIVITY_KIND_RUNTIME);
static_assert(static_cast<int>(Kind::kernel) == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
static_assert(static_cast<int>(Kind::copy_between_devices) == CUPTI_ACTIVITY_KIND_MEMCPY2);
static_assert(kMultipleSubscribers == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
static_assert(kFlushForced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);

bool has(std::span<const Functions> all, int function) {
    for (const Functions& some : all)
        if (static_cast<int>(some.first) <= function && function <= static_cast<int>(some.last)) return true;
    return false;
}

TEST_CASE("The functions that submit work are recorded") {
    for (const int function :
         {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
          CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
          CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
          CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2,
          CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync_ptsz, CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync,
          CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async, CUPTI_DRIVER_TRACE_CBID_cuMemsetD2D32Async_ptsz})
        CHECK(has(kDriverFunctions, function));
    for (const int function :
         {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
          CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
          CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000,
          CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000,
          CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
          CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyPeerAsync_v4000, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020})
        CHECK(has(kRuntimeFunctions, function));
    // These are called often, and submit nothing.
    for (const int function : {CUPTI_DRIVER_TRACE_CBID_cuEventQuery, CUPTI_DRIVER_TRACE_CBID_cuStreamQuery,
                               CUPTI_DRIVER_TRACE_CBID_cuPointerGetAttribute})
        CHECK(!has(kDriverFunctions, function));
}

}  // namespace
}  // namespace aoti_dbg::cupti::cupti_layout_test

// memory_ways HOW [N]: allocates and frees memory that a device can access. Standard output must depend only
// on the arguments.
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/victims/driver_user.hpp"

// HOW is one of
//   all              allocates in every way and frees some; prints names and addresses on stderr
//   pieces           maps adjacent pieces of one reservation and unmaps one; prints the address on stderr
//   refused          requests more than the N MiB that exist, then less
//   refused_at_end   requests more than exists and exits with status N
//   fork             like all, in a child forked before the driver was loaded, then in the parent
//   threads          N threads allocate and free at once, and each keeps one allocation
//   churn            allocates and frees N times
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

void use_device() {
    CUcontext context = nullptr;
    victim::must(cuInit(0), "cuInit");
    victim::must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    victim::must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

void print_address(const std::string& name, CUdeviceptr address) {
    std::fprintf(stderr, "at %s %llx\n", name.c_str(), static_cast<unsigned long long>(address));
}

void by_all_ways() {
    CUstream stream = nullptr;
    CUmemoryPool pool = nullptr;
    CUmemPoolProps properties = {};
    victim::must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    victim::must(cuMemPoolCreate(&pool, &properties), "cuMemPoolCreate");
    CUdeviceptr at = 0;
    const auto made = [&at](const char* name, CUresult result) {
        std::printf("%s -> %d\n", name, static_cast<int>(result));
        print_address(name, at);
        return at;
    };
    // This runs first, because no later allocation may reuse the address of freed memory.
    CUcontext context = nullptr;
    CUcontext current = nullptr;
    victim::must(cuCtxGetCurrent(&current), "cuCtxGetCurrent");
    victim::must(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
    made("of_context", cuMemAlloc_v2(&at, 6 * kMiB));
    victim::must(cuCtxDestroy_v2(context), "cuCtxDestroy");
    victim::must(cuCtxSetCurrent(current), "cuCtxSetCurrent");
    made("living", cuMemAlloc_v2(&at, 2 * kMiB));
    const CUdeviceptr freed = made("freed", cuMemAlloc_v2(&at, 3 * kMiB));
    made("managed", cuMemAllocManaged(&at, 4096, CU_MEM_ATTACH_GLOBAL));
    std::size_t pitch = 0;
    made("pitched", cuMemAllocPitch_v2(&at, &pitch, 100, 7, 4));
    made("in_order", cuMemAllocAsync(&at, kMiB, stream));
    const CUdeviceptr freed_in_order = made("freed_in_order", cuMemAllocAsync_ptsz(&at, kMiB + 512, nullptr));
    const CUdeviceptr pooled = made("pooled", cuMemAllocFromPoolAsync(&at, 5 * kMiB, pool, stream));
    void* host = nullptr;
    victim::must(cuMemHostAlloc(&host, 8192, 0), "cuMemHostAlloc");
    print_address("host", reinterpret_cast<CUdeviceptr>(host));
    static char registered[4096];
    victim::must(cuMemHostRegister_v2(registered, sizeof registered, 0), "cuMemHostRegister");
    print_address("registered", reinterpret_cast<CUdeviceptr>(registered));
    std::printf("free -> %d\n", static_cast<int>(cuMemFree_v2(freed)));
    std::printf("free again -> %d\n", static_cast<int>(cuMemFree_v2(at + 1)));
    std::printf("free in order -> %d\n", static_cast<int>(cuMemFreeAsync(freed_in_order, stream)));
    std::printf("free of pool -> %d\n", static_cast<int>(cuMemFreeAsync_ptsz(pooled, stream)));
    victim::must(cuMemHostUnregister(registered), "cuMemHostUnregister");
    victim::must(cuStreamSynchronize(stream), "cuStreamSynchronize");
}

void by_pieces() {
    constexpr int kPieces = 4;
    CUdeviceptr reserved = 0;
    victim::must(cuMemAddressReserve(&reserved, 2 * kPieces * kMiB, 0, 0, 0), "cuMemAddressReserve");
    print_address("pieces", reserved);
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    for (int i = 0; i < kPieces; ++i) {
        CUmemGenericAllocationHandle handle = 0;
        const CUdeviceptr at = reserved + static_cast<std::size_t>(i) * kMiB;
        std::printf("create -> %d\n", static_cast<int>(cuMemCreate(&handle, kMiB, &properties, 0)));
        std::printf("map -> %d\n", static_cast<int>(cuMemMap(at, kMiB, 0, handle, 0)));
        victim::must(cuMemRelease(handle), "cuMemRelease");
    }
    std::printf("unmap -> %d\n", static_cast<int>(cuMemUnmap(reserved + 2 * kMiB, kMiB)));
}

void refused(std::size_t bytes) {
    CUdeviceptr at = 0;
    errno = victim::kErrno;
    std::printf("too much -> %d, errno %d\n", static_cast<int>(cuMemAlloc_v2(&at, bytes)), errno);
    CUmemGenericAllocationHandle handle = 0;
    CUmemAllocationProp properties = {};
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    std::printf("too much to map -> %d\n", static_cast<int>(cuMemCreate(&handle, 2 * bytes, &properties, 0)));
    std::printf("less -> %d\n", static_cast<int>(cuMemAlloc_v2(&at, 4096)));
    std::thread([] {
        use_device();
        CUdeviceptr there = 0;
        std::printf("elsewhere -> %d\n", static_cast<int>(cuMemAlloc_v2(&there, 8192)));
    }).join();
}

int end_refused(int status) {
    CUdeviceptr at = 0;
    std::printf("too much -> %d\n", static_cast<int>(cuMemAlloc_v2(&at, 16384 * kMiB)));
    return status;
}

void in_threads(int count) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([] {
            use_device();
            CUdeviceptr at = 0;
            for (int turn = 0; turn < 500; ++turn) {
                victim::must(cuMemAlloc_v2(&at, 512), "cuMemAlloc");
                victim::must(cuMemFree_v2(at), "cuMemFree");
            }
            victim::must(cuMemAlloc_v2(&at, 512), "cuMemAlloc");
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    std::printf("done\n");
}

void churn(int count) {
    CUdeviceptr kept = 0;
    CUdeviceptr at = 0;
    victim::must(cuMemAlloc_v2(&kept, kMiB), "cuMemAlloc");
    for (int i = 0; i < count; ++i) {
        victim::must(cuMemAlloc_v2(&at, 512), "cuMemAlloc");
        victim::must(cuMemFree_v2(at), "cuMemFree");
    }
    print_address("kept", kept);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const std::string how = argv[1];
    const int number = argc > 2 ? std::atoi(argv[2]) : 0;
    if (how == "fork") {
        const pid_t child = fork();
        int status = 0;
        if (child != 0 && waitpid(child, &status, 0) != child) return 3;
        use_device();
        by_all_ways();
        std::fflush(stdout);
        if (child == 0) _exit(0);
        return status;
    }
    use_device();
    if (how == "all") by_all_ways();
    if (how == "pieces") by_pieces();
    if (how == "refused") refused(static_cast<std::size_t>(number) * kMiB);
    if (how == "refused_at_end") return end_refused(number);
    if (how == "threads") in_threads(number);
    if (how == "churn") churn(number);
    return 0;
}

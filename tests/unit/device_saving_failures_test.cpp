// Saving tensors of a device when something fails: refused launches, failed driver calls and allocations,
// faults, destroyed contexts, captures. On the fake driver.
#include <cstdlib>
#include <new>

#include "tests/unit/device_saving_fixture.hpp"

namespace {

[[maybe_unused]] thread_local std::uint64_t t_allocations_left =
    0;  // counts down to the one that fails; 0: none fails

}  // namespace

// A sanitizer has its own operator new.
#ifndef AOTI_DBG_SANITIZED
void* operator new(std::size_t bytes) {
    if (t_allocations_left != 0 && --t_allocations_left == 0) throw std::bad_alloc();
    if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
#endif

namespace aoti_dbg::test {

TEST_CASE("If the driver refuses our kernel, nothing of the device is saved and no file is torn") {
    if (!has_device_code()) return;
    const Device device;
    Folder folder;
    const Bytes bytes = random_bytes(3'000'000, 1);
    const CUdeviceptr address = Device::upload(bytes);
    CUstream stream = Device::stream();
    CHECK(folder.save(0, address, bytes.size(), stream));
    fake_cuda_refuse(kSaveKernel, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    CHECK(folder.save(1, address, bytes.size(), stream));
    fake_cuda_refuse(nullptr, 0);
    CHECK_FALSE(folder.save(2, address, bytes.size(), stream));
    folder.finish();
    CHECK(folder.files() == 1);
    CHECK(folder.content(0) == bytes);
    CHECK(folder.end() == "complete");
    CHECK(folder.saving().progress().left_out == 2);
}

TEST_CASE("Whichever driver call fails, saved files are whole and earlier tensors continue") {
    if (!has_device_code()) return;
    for (const int error : {CUDA_ERROR_UNKNOWN, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_SUPPORTED}) {
        bool is_hit = true;
        std::uint64_t calls = 0;
        while (is_hit) {
            const Device device;
            Folder folder;
            const Bytes bytes = random_bytes(300'000, 6);
            const CUdeviceptr address = Device::upload(bytes);
            CUstream stream = Device::stream();
            fake_cuda_fail_call(++calls, error);
            // The first call sets everything up. Tensors that cannot be saved appear by name only.
            std::vector<bool> had;
            for (std::uint32_t call = 0; call < 3; ++call)
                had.push_back(folder.save(call, address, bytes.size(), stream));
            is_hit = fake_cuda_fails_yet() == 0;
            fake_cuda_fail_call(0, 0);
            CUcontext current = nullptr;
            CHECK((cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == device.context()));
            CHECK(cuStreamSynchronize(stream) == CUDA_SUCCESS);
            folder.finish();
            CAPTURE(error, calls, had);
            for (std::uint32_t call = 0; call < 3; ++call) {
                if (folder.has(call)) CHECK(folder.content(call) == bytes);
                if (is_hit) continue;
                CHECK(had[call]);
                CHECK(folder.has(call));
            }
            CHECK(folder.end() == "complete");
        }
        CHECK(calls > 10);
    }
}

#ifndef AOTI_DBG_SANITIZED
TEST_CASE("Whichever allocation of the launching thread fails, saved files are whole and saving ends") {
    if (!has_device_code()) return;
    bool is_hit = true;
    std::uint64_t allocations = 0;
    while (is_hit) {
        const Device device;
        Folder folder;
        const Bytes bytes = random_bytes(300'000, 7);
        const CUdeviceptr address = Device::upload(bytes);
        CUstream stream = Device::stream();
        // The library ends at the first failure, and everything saved by then stays.
        std::uint32_t call = 0;
        t_allocations_left = ++allocations;
        try {
            for (; call < 2; ++call)
                folder.save(call, address, bytes.size(), stream);
        } catch (const std::bad_alloc&) {
        }
        is_hit = t_allocations_left == 0;
        t_allocations_left = 0;
        folder.finish();
        CAPTURE(allocations, call);
        for (std::uint32_t saved = 0; saved < 2; ++saved) {
            if (!is_hit) CHECK(folder.has(saved));
            if (folder.has(saved)) CHECK(folder.content(saved) == bytes);
        }
        // Every lost tensor is counted.
        CHECK(folder.files() + folder.saving().progress().left_out >= call);
        CHECK(folder.end() == "complete");
    }
    CHECK(allocations > 10);
}
#endif

TEST_CASE("After a fault in a context its earlier tensors are saved, and nothing waits for the rest") {
    if (!has_device_code()) return;
    const Device device;
    Folder folder;
    const Bytes bytes = random_bytes(100'000, 2);
    const CUdeviceptr address = Device::upload(bytes);
    CUstream stream = Device::stream();
    CHECK(folder.save(0, address, bytes.size(), stream));
    REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
    // A tensor at an unmapped address faults in our kernel as it would in the program's.
    CHECK(folder.save(1, address + (std::uint64_t{1} << 40U), bytes.size(), stream));
    CHECK(cuStreamSynchronize(stream) != CUDA_SUCCESS);
    CHECK(folder.save(2, address, bytes.size(), stream));
    folder.finish();
    CHECK(folder.files() == 1);
    CHECK(folder.content(0) == bytes);
    CHECK(folder.end() == "complete");
}

TEST_CASE("A context may be destroyed while its tensors are on their way, and another one created") {
    if (!has_device_code()) return;
    Folder folder;
    for (std::uint32_t life = 0; life < 5; ++life) {
        Device device;
        const Bytes bytes = random_bytes(500'000 + life, life);
        const CUdeviceptr address = Device::upload(bytes);
        CHECK(folder.save(life, address, bytes.size(), Device::stream()));
        folder.saving().end_context(device.context());
        device.destroy();
    }
    folder.finish();
    for (std::uint32_t life = 0; life < 5; ++life)
        CHECK(folder.content(life) == random_bytes(500'000 + life, life));
}

TEST_CASE("Tensors that a stream captures are not saved, and its graph stays the program's") {
    if (!has_device_code()) return;
    const Device device;
    Folder folder;
    const Bytes bytes = random_bytes(1000, 5);
    const CUdeviceptr address = Device::upload(bytes);
    CUstream stream = Device::stream();
    REQUIRE(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    CHECK_FALSE(folder.save(0, address, bytes.size(), stream));
    CUgraph graph = nullptr;
    REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    std::size_t nodes = 1;
    CHECK(cuGraphGetNodes(graph, nullptr, &nodes) == CUDA_SUCCESS);
    CHECK(nodes == 0);
    CHECK(folder.save(1, address, bytes.size(), stream));
    folder.finish();
    CHECK(folder.files() == 1);
    CHECK(folder.content(1) == bytes);
}

}  // namespace aoti_dbg::test

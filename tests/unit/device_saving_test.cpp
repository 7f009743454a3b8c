// Tensors of a device on their way to disk, on the fake driver. First stuck streams and full buffers; then
// every size and alignment, and many threads and streams.
#include <atomic>
#include <thread>

#include "tests/unit/device_saving_fixture.hpp"

namespace aoti_dbg::test::device_saving_test {

TEST_CASE("A stuck stream delays no other, and its tensors arrive when it continues") {
    if (!has_device_code()) return;
    const Device device;
    Folder folder;
    const Bytes bytes = random_bytes(100'000, 3);
    const CUdeviceptr address = Device::upload(bytes);
    CUstream stuck = Device::stream();
    CUstream other = Device::stream();
    fake_cuda_hold_stream(stuck);
    CHECK(folder.save(0, address, bytes.size(), stuck));
    // Many times the size of the staging buffer.
    for (std::uint32_t call = 1; call < 100; ++call)
        CHECK(folder.save(call, address, bytes.size(), other));
    CHECK(folder.saving().progress().left_out == 0);
    fake_cuda_release_stream(stuck);
    folder.finish();
    CHECK(folder.files() == 100);
    CHECK(folder.content(0) == bytes);
    CHECK(folder.content(99) == bytes);
}

TEST_CASE("Threads that save the same tensor at once, larger than the staging, do not starve each other") {
    if (!has_device_code()) return;
    const Device device;
    Folder folder;
    const Bytes bytes = random_bytes(5'000'000, 8);
    const CUdeviceptr address = Device::upload(bytes);
    const CUstream streams[] = {Device::stream(), Device::stream()};
    std::atomic<std::uint32_t> failed{0};
    std::vector<std::thread> threads;
    for (std::uint32_t thread = 0; thread < 2; ++thread) {
        threads.emplace_back([&, thread] {
            if (cuCtxSetCurrent(device.context()) != CUDA_SUCCESS) ++failed;
            if (!folder.save(thread, address, bytes.size(), streams[thread])) ++failed;
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    folder.finish();
    CHECK(failed == 0);
    CHECK(folder.saving().progress().left_out == 0);
    CHECK(folder.content(0) == bytes);
    CHECK(folder.content(1) == bytes);
}

TEST_CASE("If waiting is forbidden, tensors without room are skipped, each saved whole or not at all") {
    if (!has_device_code()) return;
    const Device device;
    Options options = options_with(std::uint64_t{1} << 20U);
    options.on_full = OnFull::drop;
    Folder folder(options);
    // Each tensor has other contents, because equal ones would need no bytes.
    std::vector<CUdeviceptr> addresses;
    for (std::uint32_t call = 0; call < 4; ++call)
        addresses.push_back(Device::upload(random_bytes(700'000, 40 + call)));
    CUstream stream = Device::stream();
    fake_cuda_hold_stream(stream);
    for (std::uint32_t call = 0; call < 4; ++call)
        CHECK(folder.save(call, addresses[call], 700'000, stream));
    fake_cuda_release_stream(stream);
    folder.finish();
    CHECK(folder.files() == 1);
    CHECK(folder.content(0) == random_bytes(700'000, 40));
    CHECK(folder.saving().progress().left_out == 3);
    CHECK(folder.end() == "complete");
}

TEST_CASE("A tensor is saved as it was at its place in the stream, whatever comes later") {
    if (!has_device_code()) return;
    const Device device;
    Folder folder;
    CUstream stream = Device::stream();
    const CUdeviceptr address = Device::upload(Bytes(50'000));
    fake_cuda_delay_us(200);
    for (std::uint32_t call = 0; call < 50; ++call) {
        REQUIRE(cuMemsetD8Async(address, static_cast<unsigned char>(call), 50'000, stream) == CUDA_SUCCESS);
        CHECK(folder.save(call, address, 50'000, stream));
    }
    REQUIRE(cuMemsetD8Async(address, 0xff, 50'000, stream) == CUDA_SUCCESS);
    folder.finish();
    fake_cuda_delay_us(0);
    for (std::uint32_t call = 0; call < 50; ++call)
        CHECK(folder.content(call) == Bytes(50'000, static_cast<std::byte>(call)));
}

TEST_CASE("Every size at every alignment arrives, in one piece or many, and equal ones become links") {
    if (!has_device_code()) return;
    const Device device;
    Folder folder;
    CUstream stream = Device::stream();
    std::map<std::uint32_t, Bytes> expected;
    std::uint32_t call = 0;
    for (const std::size_t size :
         {1, 7, 15, 16, 17, 4095, 16384, 16385, 127'000, 131'072, 262'144, 1'200'001}) {
        for (const std::size_t shift : {0, 1, 2, 4, 8, 13, 16}) {
            const Bytes bytes = random_bytes(size, size * 100 + shift);
            CHECK(folder.save(call, Device::upload(bytes, shift), size, stream));
            expected[call++] = bytes;
        }
    }
    const std::size_t distinct = expected.size();
    for (std::uint32_t again = 0; again < distinct; ++again) {
        // From another address, because only the contents count.
        CHECK(folder.save(call, Device::upload(expected[again], again % 3), expected[again].size(), stream));
        expected[call++] = expected[again];
    }
    folder.finish();
    for (const auto& [number, bytes] : expected) {
        CAPTURE(number, bytes.size());
        CHECK(folder.content(number) == bytes);
    }
    const SaveProgress progress = folder.saving().progress();
    CHECK(progress.files == expected.size());
    // Some of the single bytes are equal from the start.
    CHECK(progress.linked >= distinct);
    CHECK(progress.left_out == 0);
    CHECK(folder.end() == "complete");
}

TEST_CASE("One call can have more tensors than a launch takes, empty ones included") {
    if (!has_device_code()) return;
    const Device device;
    Folder folder;
    std::map<std::string, std::pair<CUdeviceptr, std::size_t>> tensors;
    std::map<std::string, Bytes> expected;
    for (std::size_t i = 0; i < 3 * kMostSaveJobs + 1; ++i) {
        const std::string name = "buf" + std::to_string(i);
        expected[name] = random_bytes(i * 100, i);
        tensors[name] = {i == 0 ? 0 : Device::upload(expected[name]), i * 100};
    }
    CHECK(folder.save(0, tensors, Device::stream()));
    folder.finish();
    for (const auto& [name, bytes] : expected)
        CHECK(folder.content(0, name) == bytes);
}

TEST_CASE("Threads on their own streams save side by side through a staging too small for them") {
    if (!has_device_code()) return;
    const Device device;
    Folder folder;
    constexpr std::uint32_t kThreads = 6;
    constexpr std::uint32_t kCalls = 40;
    std::vector<Bytes> expected;
    std::vector<CUdeviceptr> addresses;
    for (std::uint32_t call = 0; call < kThreads * kCalls; ++call) {
        expected.push_back(random_bytes(20'000 + call * 1000, call));
        addresses.push_back(Device::upload(expected.back()));
    }
    std::vector<CUstream> streams = {nullptr, CU_STREAM_PER_THREAD};
    while (streams.size() < kThreads)
        streams.push_back(Device::stream());
    std::atomic<std::uint32_t> failed{0};
    std::vector<std::thread> threads;
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
            if (cuCtxSetCurrent(device.context()) != CUDA_SUCCESS) ++failed;
            for (std::uint32_t call = thread * kCalls; call < (thread + 1) * kCalls; ++call) {
                if (!folder.save(call, addresses[call], expected[call].size(), streams[thread])) ++failed;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    folder.finish();
    CHECK(failed == 0);
    for (std::uint32_t call = 0; call < expected.size(); ++call)
        CHECK(folder.content(call) == expected[call]);
    CHECK(folder.saving().progress().left_out == 0);
}

}  // namespace aoti_dbg::test::device_saving_test

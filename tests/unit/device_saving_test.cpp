// Tensors of a device on their way to disk, on the fake driver. First refusals, faults, stuck streams, full
// buffers and destroyed contexts; then every size and alignment, and many threads and streams.
#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <new>
#include <thread>

#include "serializer/json_line.hpp"
#include "serializer/pt_reader.hpp"
#include "shim/save/saved_side.hpp"
#include "stats_kernels/device_code.hpp"
#include "tests/fakes/driver/fake_cuda_control.h"
#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"
#include "tests/support/run_program.hpp"

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
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t count, std::uint64_t seed) {
    Bytes bytes(count);
    Random random(seed);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random.bits());
    return bytes;
}

class Device {
  public:
    Device() {
        REQUIRE(cuInit(0) == CUDA_SUCCESS);
        REQUIRE(cuCtxCreate_v2(&context_, 0, 0) == CUDA_SUCCESS);
    }
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device() {
        if (context_ != nullptr) cuCtxDestroy_v2(context_);
    }
    void destroy() {
        REQUIRE(cuCtxDestroy_v2(context_) == CUDA_SUCCESS);
        context_ = nullptr;
    }
    [[nodiscard]] CUcontext context() const { return context_; }

    static CUstream stream() {
        CUstream made = nullptr;
        REQUIRE(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        return made;
    }
    /// Uploads the bytes to device memory, `shift` bytes behind its start.
    static CUdeviceptr upload(const Bytes& bytes, std::size_t shift = 0) {
        CUdeviceptr address = 0;
        REQUIRE(cuMemAlloc_v2(&address, bytes.size() + shift) == CUDA_SUCCESS);
        REQUIRE(cuMemcpyHtoD_v2(address + shift, bytes.data(), bytes.size()) == CUDA_SUCCESS);
        return address + shift;
    }

  private:
    CUcontext context_ = nullptr;
};

Options options_with(std::uint64_t staging) {
    Options options;
    options.staging = staging;
    return options;
}

/// The saving of a session into a folder, and the files in it.
class Folder {
  public:
    explicit Folder(const Options& options)
        : options_(options), saving_(Saving::start(options_, folder_.path().string(), "/")) {
        REQUIRE(saving_ != nullptr);
    }
    explicit Folder(std::uint64_t staging = std::uint64_t{1} << 20U) : Folder(options_with(staging)) {}

    /// Saves tensors by name, in one side of one call, as a launching thread does. False where the device
    /// cannot be used.
    bool save(std::uint32_t call, const std::map<std::string, std::pair<CUdeviceptr, std::size_t>>& tensors,
              CUstream stream) {
        SavedSide side(*saving_, {EventSide::before, 0, 0, call, call, "kernel", stream, nullptr});
        for (const auto& [name, place] : tensors) {
            PlannedArgument argument;
            argument.label = name;
            side.add(argument, {place.first, facts_of(place.second)});
        }
        side.send();
        return !side.lacks_device();
    }
    bool save(std::uint32_t call, CUdeviceptr address, std::size_t bytes, CUstream stream) {
        return save(call, {{"buf0", {address, bytes}}}, stream);
    }

    Saving& saving() { return *saving_; }
    void finish() { saving_->finish(); }

    [[nodiscard]] std::size_t files() const {
        std::size_t count = 0;
        for (const auto& entry : fs::recursive_directory_iterator(folder_.path() / "tensors"))
            count += entry.path().extension() == ".pt" ? 1 : 0;
        return count;
    }
    [[nodiscard]] bool has(std::uint32_t call) const { return fs::exists(path_of(call, "buf0")); }
    /// The storage in a file. Fails the test if the file is not whole.
    [[nodiscard]] Bytes content(std::uint32_t call, const std::string& name = "buf0") const {
        const std::string text = read_text(path_of(call, name));
        const Result<PtView> view = read_pt(std::as_bytes(std::span(text)));
        if (!view.ok()) {
            FAIL_CHECK("call " << call << ", " << name << ": " << view.status().message());
            return {};
        }
        CHECK(view.value().device == "cuda:0");
        return {view.value().storage.begin(), view.value().storage.end()};
    }
    /// How it ended, according to the index.
    [[nodiscard]] std::string end() const {
        JsonLine line;
        const std::string index = read_text(folder_.path() / "tensors" / "index.jsonl");
        const std::size_t last = index.size() < 2 ? 0 : index.rfind('\n', index.size() - 2) + 1;
        if (!line.parse(std::string_view(index).substr(last, index.size() - last - 1))) return "";
        return std::string(line.root().member("how").text());
    }

  private:
    [[nodiscard]] fs::path path_of(std::uint32_t call, const std::string& name) const {
        char folder[32];
        std::snprintf(folder, sizeof folder, "run0000/call%04u", call);
        return folder_.path() / "tensors" / folder / ("before_launch_kernel_" + name + "_cuda:0.pt");
    }
    const SeenFacts* facts_of(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        SeenFacts& facts = facts_[bytes];
        facts.dtype = "uint8";
        facts.measured_dtype = DType::uint8;
        facts.device = "cuda:0";
        facts.device_index = 0;
        facts.place = Place::cuda;
        facts.sizes = {static_cast<std::int64_t>(bytes)};
        facts.strides = {1};
        facts.count = facts.covered_bytes = bytes;
        facts.storage_bytes = static_cast<std::int64_t>(bytes);
        facts.has_known_bytes = true;
        return &facts;
    }

    TempFolder folder_;
    Options options_;
    Saving* saving_;
    std::mutex mutex_;
    std::map<std::size_t, SeenFacts> facts_;
};

bool has_device_code() {
    if (save_code().fatbin.empty()) WARN("skipped: built without nvcc");
    return !save_code().fatbin.empty();
}

}  // namespace

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

}  // namespace aoti_dbg::test

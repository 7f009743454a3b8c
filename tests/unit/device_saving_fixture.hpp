// A context of the fake driver, and a folder into which tensors of its memory are saved.
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "serializer/json_line.hpp"
#include "serializer/pt_reader.hpp"
#include "shim/save/saved_side.hpp"
#include "stats_kernels/device_code.hpp"
#include "tests/fakes/driver/fake_cuda_control.h"
#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::test {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

inline Bytes random_bytes(std::size_t count, std::uint64_t seed) {
    Bytes bytes(count);
    Random random(seed);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random.bits());
    return bytes;
}

/// A context of the fake driver.
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

inline Options options_with(std::uint64_t staging) {
    Options options;
    options.staging = staging;
    return options;
}

/// The saving of a session into a folder, and the files in it.
class Folder {
  public:
    explicit Folder(const Options& options)
        : options_(options), saving_(Saving::start(options_, folder_.path().string(), "/", nullptr)) {
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

inline bool has_device_code() {
    if (save_code().fatbin.empty()) WARN("skipped: built without nvcc");
    return !save_code().fatbin.empty();
}

}  // namespace aoti_dbg::test

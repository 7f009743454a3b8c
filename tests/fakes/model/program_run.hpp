// A run that executes a program, for stats_model.cpp with FAKE_PROGRAM. The program is the text file
// `program` beside the model, and tests/preload/call_program.hpp writes it together with the wrapper source
// that it stands for. Each line is an operation and numbers. A tensor is a buffer and a part of it: 0 is all
// of it, 1 the first half as a view, 2 the second half. It must look like compiler output, as its includer.
#pragma once

#include <array>
#include <deque>
#include <fstream>
#include <map>
#include <sstream>

namespace {

/// An operation of the program with its numbers.
struct Step {
    std::string what;
    std::array<int, 6> numbers{};
};

inline std::vector<Step> read_program(const std::string& path) {
    std::vector<Step> steps;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        Step step;
        words >> step.what;
        for (int& number : step.numbers)
            words >> number;
        steps.push_back(step);
    }
    if (steps.empty()) throw std::runtime_error("no program in " + path);
    return steps;
}

/// Two streams that take turns. Each waits for the other one at its turn, so the calls have one order.
class Turns {
  public:
    explicit Turns(void* caller) : caller_(static_cast<CUstream>(caller)) {}
    Turns(const Turns&) = delete;
    Turns& operator=(const Turns&) = delete;
    ~Turns() {
        guard_.reset();
        if (side_ == nullptr) return;
        cuEventDestroy(event_);
        cuStreamDestroy(side_);
    }
    void to_side() {
        if (side_ == nullptr) {
            check_driver(cuStreamCreate(&side_, CU_STREAM_NON_BLOCKING));
            check_driver(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING));
        }
        wait(caller_, side_);
        guard_ = std::make_unique<AOTICudaStreamGuard>(side_, 0);
        is_side_ = true;
    }
    void to_caller() {
        guard_.reset();
        wait(side_, caller_);
        is_side_ = false;
    }
    [[nodiscard]] CUstream now() const { return is_side_ ? side_ : caller_; }

  private:
    void wait(CUstream done, CUstream next) {
        check_driver(cuEventRecord(event_, done));
        check_driver(cuStreamWaitEvent(next, event_, 0));
    }
    CUstream caller_;
    CUstream side_ = nullptr;
    CUevent event_ = nullptr;
    bool is_side_ = false;
    std::unique_ptr<AOTICudaStreamGuard> guard_;
};

/// One run of the program.
class ProgramRun {
  public:
    ProgramRun(RAIIAtenTensorHandle input, const Constants& constants, void* stream, Kernels& kernels,
               const std::string& cubin_dir)
        : turns_(stream), constants_(constants), kernels_(kernels), cubin_dir_(cubin_dir) {
        buffers_.emplace(-1, std::move(input));
    }

    void execute(const std::vector<Step>& steps, AtenTensorHandle* outputs) {
        for (const Step& step : steps)
            if (!manage(step, outputs) && !compute(step)) throw std::runtime_error("unknown: " + step.what);
    }

  private:
    RAIIAtenTensorHandle& buffer(int number) { return buffers_.at(number); }
    /// Keeps a view as the source does, until the run ends.
    RAIIAtenTensorHandle& tensor(int number, int part) {
        if (part == 0) return buffer(number);
        static constexpr int64_t sizes[] = {4, 16};
        static constexpr int64_t strides[] = {16, 1};
        return views_.emplace_back(
            reinterpret_tensor_wrapper(buffer(number), sizes, strides, part == 2 ? 64 : 0));
    }

    bool manage(const Step& step, AtenTensorHandle* outputs) {
        static constexpr int64_t sizes[] = {8, 16};
        const auto& n = step.numbers;
        if (step.what == "empty") {
            const int32_t dtype = n[1] == 0   ? cached_torch_dtype_float32
                                  : n[1] == 1 ? cached_torch_dtype_int64
                                              : cached_torch_dtype_bool;
            buffers_.emplace(n[0], empty(sizes, dtype));
        } else if (step.what == "reset") {
            buffers_.erase(n[0]);
        } else if (step.what == "move") {
            RAIIAtenTensorHandle moved = std::move(buffer(n[0]));
            buffers_.erase(n[0]);
            buffers_.emplace(n[1], std::move(moved));
        } else if (step.what == "unview") {
            views_.clear();
        } else if (step.what == "side") {
            turns_.to_side();
        } else if (step.what == "caller") {
            turns_.to_caller();
        } else if (step.what == "return") {
            for (int i = 0; i < 3; ++i)
                outputs[i] = buffer(n[static_cast<size_t>(i)]).release();
        } else {
            return false;
        }
        return true;
    }

    /// `set` and `copy` are not calls of the model: the source does not have them.
    bool compute(const Step& step) {
        const auto& n = step.numbers;
        const CUstream now = turns_.now();
        if (step.what == "set") {
            check_driver(
                cuMemsetD8Async(address(n[0], n[1]), static_cast<unsigned char>(n[2]), bytes(n[1]), now));
        } else if (step.what == "copy") {
            check_driver(cuMemcpyDtoDAsync(address(n[2], n[3]), address(n[0], n[1]), bytes(n[1]), now));
        } else if (step.what == "addmm") {
            AOTI_TORCH_ERROR_CODE_CHECK(
                aoti_torch_cuda_addmm_out(buffer(n[2]), constants_.handles[1], buffer(n[0]), weight(), 1, 1));
        } else if (step.what == "relu") {
            RAIIAtenTensorHandle& in_out = tensor(n[0], n[1]);
            call_triton_poi_fused_relu_0(in_out, constants_.handles[1], elements(n[1]), now, kernels_,
                                         cubin_dir_);
        } else if (step.what == "sqrt") {
            RAIIAtenTensorHandle& in = tensor(n[0], n[1]);
            RAIIAtenTensorHandle& out = tensor(n[2], n[3]);
            call_triton_poi_fused_sqrt_2(in, out, elements(n[1]), now, kernels_, cubin_dir_);
        } else if (step.what == "scale") {
            RAIIAtenTensorHandle& in = tensor(n[0], n[1]);
            RAIIAtenTensorHandle& out = tensor(n[2], n[3]);
            call_add_kernel_0(in, out, 0.5F, elements(n[1]), now, kernels_, cubin_dir_);
        } else if (step.what == "add") {
            RAIIAtenTensorHandle& in = tensor(n[0], n[1]);
            RAIIAtenTensorHandle& other = tensor(n[2], n[3]);
            RAIIAtenTensorHandle& out = tensor(n[4], n[5]);
            call_triton_poi_fused_add_3(in, other, out, elements(n[1]), now, kernels_, cubin_dir_);
        } else if (step.what == "gt") {
            call_triton_poi_fused_gt_arange_1(buffer(n[0]), buffer(n[1]), buffer(n[2]), 128, now, kernels_,
                                              cubin_dir_);
        } else {
            return false;
        }
        return true;
    }

    [[nodiscard]] RAIIAtenTensorHandle weight() const {
        static constexpr int64_t sizes[] = {16, 16};
        static constexpr int64_t strides[] = {1, 16};
        return reinterpret_tensor_wrapper(constants_.handles[0], sizes, strides, 0);
    }
    static int32_t elements(int part) { return part == 0 ? 128 : 64; }
    static size_t bytes(int part) { return part == 0 ? 512 : 256; }
    CUdeviceptr address(int number, int part) {
        return reinterpret_cast<CUdeviceptr>(buffer(number).data_ptr()) + (part == 2 ? 256 : 0);
    }

    Turns turns_;
    const Constants& constants_;
    Kernels& kernels_;
    const std::string& cubin_dir_;
    std::map<int, RAIIAtenTensorHandle> buffers_;  // -1 is the input
    std::deque<RAIIAtenTensorHandle> views_;
};

}  // namespace

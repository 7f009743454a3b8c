// Random call graphs for the fake model `stats_program`. Each is a program that the model executes and the
// wrapper source that Inductor would have written for it, made from the same choices. Contains no checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/random.hpp"

namespace aoti_dbg::test {

namespace program {
inline constexpr int kInput = -1;
struct Tensor {
    int buffer = 0;
    int part = 0;
};
inline std::string name(int buffer) {
    return buffer == kInput ? "arg2_1" : "buf" + std::to_string(buffer);
}
inline std::string expression(const Tensor& tensor) {
    if (tensor.part == 0) return name(tensor.buffer);
    return "wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(" + name(tensor.buffer) +
           ", 2, int_array_4, int_array_1, " + (tensor.part == 2 ? "64L" : "0L") + "))";
}
inline std::string count(int part) {
    return part == 0 ? "128L" : "64L";
}
inline constexpr const char* kBeginning =
    "    static constexpr int64_t int_array_0[] = {8L, 16L};\n"
    "    static constexpr int64_t int_array_1[] = {16L, 1L};\n"
    "    static constexpr int64_t int_array_2[] = {16L, 16L};\n"
    "    static constexpr int64_t int_array_3[] = {1L, 16L};\n"
    "    static constexpr int64_t int_array_4[] = {4L, 16L};\n"
    "    _aoti_aux_stream_cache.ensure(2, this->device_idx_, stream);\n"
    "    std::unique_ptr<AOTICudaStreamGuard> _aoti_current_stream_guard;\n"
    "    cudaStream_t stream1 = _aoti_aux_stream_cache.get(1, this->device_idx_, stream);\n";
}  // namespace program

class CallProgram {
  public:
    explicit CallProgram(std::uint64_t seed) : random_(seed * 0x9E3779B97F4A7C15ULL + 1) {
        source_ = program::kBeginning;
        floats_ = {kInput};
        for (int i = 0; i < 3; ++i)
            create();
        const std::size_t steps = 12 + random_.below(24);
        for (std::size_t i = 0; i < steps; ++i)
            add_step();
        if (is_on_side_) switch_streams();
        return_outputs();
    }

    /// What the model reads.
    [[nodiscard]] const std::string& program() const { return program_; }
    /// The body of run_impl, from behind the stream guard.
    [[nodiscard]] const std::string& source() const { return source_; }

  private:
    using Tensor = program::Tensor;
    static constexpr int kInput = program::kInput;

    void say(const std::string& what, const std::vector<int>& numbers) {
        program_ += what;
        for (const int number : numbers)
            program_ += " " + std::to_string(number);
        program_ += "\n";
    }

    void add_step() {
        switch (random_.below(16)) {
            case 0:
            case 1:
                return create();
            case 2:
            case 3:
                return free_one();
            case 4:
                return reuse();
            case 5:
                return switch_streams();
            case 6:
                return work_outside();
            case 7:
            case 8:
                return multiply();
            case 9:
                return compare();
            default:
                return launch();
        }
    }

    void allocate(int dtype = 0) {
        const int number = next_++;
        const std::string buffer = program::name(number);
        const char* const dtypes[] = {"float32", "int64", "bool"};
        source_ += "    AtenTensorHandle " + buffer +
                   "_handle;\n"
                   "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(2, int_array_0, int_array_1, "
                   "cached_torch_dtype_" +
                   dtypes[dtype] + ", cached_torch_device_type_cuda, this->device_idx_, &" + buffer +
                   "_handle));\n    RAIIAtenTensorHandle " + buffer + "(" + buffer + "_handle);\n";
        say("empty", {number, dtype});
        if (dtype == 0) floats_.push_back(number);
    }

    /// Allocates a tensor that a kernel mostly writes at once. Otherwise, it has what its memory last held.
    void create() {
        const Tensor in = {floats_[random_.below(floats_.size())], 0};
        allocate();
        if (random_.one_in(4)) return;
        const Tensor out = {floats_.back(), 0};
        if (random_.one_in(3)) return root(in, out);
        scale(in, out);
    }

    void free(int number) {
        source_ += "    " + program::name(number) + ".reset();\n";
        say("reset", {number});
    }
    void free_one() {
        if (floats_.size() < 4) return allocate();
        const std::size_t which = random_.below(floats_.size());
        free(floats_[which]);
        floats_.erase(floats_.begin() + static_cast<std::ptrdiff_t>(which));
    }

    void reuse() {
        int& moved = floats_[random_.below(floats_.size())];
        if (moved == kInput) return;
        const int number = next_++;
        source_ +=
            "    auto " + program::name(number) + " = std::move(" + program::name(moved) + ");  // reuse\n";
        say("move", {moved, number});
        moved = number;
    }

    void switch_streams() {
        const std::string check = "    AOTI_RUNTIME_CUDA_CHECK(";
        const std::string side = "_aoti_aux_stream_cache.get(1, this->device_idx_, stream)";
        const std::string event = "_aoti_event_cache.get(0, this->device_idx_)";
        if (is_on_side_) source_ += "    _aoti_current_stream_guard.reset();\n";
        source_ += check + "cudaEventRecord(" + event + ", " + (is_on_side_ ? side : "stream") + "));\n";
        source_ +=
            check + "cudaStreamWaitEvent(" + (is_on_side_ ? "stream" : side) + ", " + event + ", 0));\n";
        if (!is_on_side_)
            source_ += "    _aoti_current_stream_guard = std::make_unique<AOTICudaStreamGuard>(" + side +
                       ", this->device_idx_);\n";
        say(is_on_side_ ? "caller" : "side", {});
        is_on_side_ = !is_on_side_;
    }

    /// What the source does not have: the driver sets or copies memory between calls.
    void work_outside() {
        const Tensor to = written();
        if (random_.one_in(2))
            // Bytes that make small and large floats.
            say("set", {to.buffer, to.part, static_cast<int>(0x3C + random_.below(8))});
        else if (const Tensor from = read(to); from.part == to.part || from.part * to.part != 0)
            say("copy", {from.buffer, from.part, to.buffer, to.part});
    }

    void multiply() {
        const int in = read({kNoBuffer, 0}).buffer;
        const Tensor out = {written().buffer, 0};
        if (in == out.buffer) return;
        source_ += "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_addmm_out(" + program::name(out.buffer) +
                   ", l1_bias, " + program::name(in) +
                   ", wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(l1_weight, 2, int_array_2, "
                   "int_array_3, 0L)), 1L, 1L));\n";
        say("addmm", {in, 0, out.buffer});
    }

    void compare() {
        const int in = floats_[random_.below(floats_.size())];
        for (const int output : {0, 1}) {
            if (others_[output] >= 0 && random_.one_in(2)) {
                free(others_[output]);
                others_[output] = -1;
            }
        }
        compare(in);
    }
    void compare(int in) {
        for (const int dtype : {2, 1}) {
            int& other = others_[dtype - 1];
            if (other >= 0) continue;
            other = next_;
            allocate(dtype);
        }
        call("triton_poi_fused_gt_arange_1", {{in, 0}, {others_[1], 0}, {others_[0], 0}}, "", 0);
        say("gt", {in, others_[1], others_[0]});
    }

    void launch() {
        const Tensor out = written();
        const Tensor in = read(out);
        switch (random_.below(4)) {
            case 0:
                call_relu(out);
                break;
            case 1:
                root(in, out);
                break;
            case 2:
                scale(in, out);
                break;
            default:
                add(in, out);
        }
    }
    void root(const Tensor& in, const Tensor& out) {
        call("triton_poi_fused_sqrt_2", {in, out}, "", in.part);
        say("sqrt", {in.buffer, in.part, out.buffer, out.part});
    }
    void scale(const Tensor& in, const Tensor& out) {
        call("add_kernel_0", {in, out}, "0.5, ", in.part);
        say("scale", {in.buffer, in.part, out.buffer, out.part});
    }
    void call_relu(const Tensor& in_out) {
        source_ += "    call_triton_poi_fused_relu_0(" + program::expression(in_out) + ", l1_bias, " +
                   program::count(in_out.part) + ending();
        say("relu", {in_out.buffer, in_out.part});
    }
    void add(const Tensor& in, const Tensor& out) {
        Tensor other = read(out);
        other.part = in.part == 0 ? 0 : other.part == 0 ? 1 : other.part;
        if (other.buffer == out.buffer) return;
        call("triton_poi_fused_add_3", {in, other, out}, "", in.part);
        say("add", {in.buffer, in.part, other.buffer, other.part, out.buffer, out.part});
    }

    void call(const std::string& kernel, const std::vector<Tensor>& tensors, const std::string& more,
              int part) {
        source_ += "    call_" + kernel + "(";
        for (const Tensor& tensor : tensors)
            source_ += program::expression(tensor) + ", ";
        source_ += more + program::count(part) + ending();
    }
    [[nodiscard]] std::string ending() const {
        return std::string(", this->device_idx_, ") + (is_on_side_ ? "stream1" : "stream") +
               ", kernels, this->cubin_dir_);\n";
    }

    /// A tensor that a kernel may write. Its buffer is not the input.
    Tensor written() {
        std::vector<int> buffers;
        for (const int buffer : floats_)
            if (buffer != kInput) buffers.push_back(buffer);
        if (buffers.empty()) {
            allocate();
            buffers.push_back(floats_.back());
        }
        return {buffers[random_.below(buffers.size())],
                random_.one_in(3) ? 1 + static_cast<int>(random_.below(2)) : 0};
    }
    /// A tensor that a kernel may read while it writes `out`: as many elements, in another buffer or in the
    /// other half.
    Tensor read(const Tensor& out) {
        const int buffer = floats_[random_.below(floats_.size())];
        if (buffer != out.buffer) return {buffer, out.part == 0 ? 0 : 1 + static_cast<int>(random_.below(2))};
        if (out.part != 0) return {buffer, 3 - out.part};
        allocate();
        return {floats_.back(), 0};
    }

    void return_outputs() {
        const int first = written().buffer;
        compare(first);
        source_ += "    output_handles[0] = " + program::name(first) + ".release();\n";
        source_ += "    output_handles[1] = " + program::name(others_[0]) + ".release();\n";
        source_ += "    output_handles[2] = " + program::name(others_[1]) + ".release();\n";
        say("return", {first, others_[0], others_[1]});
    }

    static constexpr int kNoBuffer = -2;

    Random random_;
    std::string program_;
    std::string source_;
    std::vector<int> floats_;   // live buffers of floats
    int others_[2] = {-1, -1};  // the live buffers of int64 and of bool
    int next_ = 0;
    bool is_on_side_ = false;
};

}  // namespace aoti_dbg::test

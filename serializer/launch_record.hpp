// One captured call, as a JSON file in OUT/launches: of a Triton kernel its code, its shape and its
// parameters, and of an op its arguments. The tensors are saved files (level 1). `aoti-dbg replay` reads it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/role.hpp"
#include "base/status.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

struct LaunchParameter {
    std::uint32_t offset = 0;  // in the kernel's parameters
    std::vector<std::byte> bytes;
    std::string tensor;           // the label of the tensor at the address in `bytes`; empty: no tensor
    std::uint64_t reachable = 0;  // bytes to the end of the allocation; 0 if a tensor or no pointer
};

/// A tensor that some parameter points to.
struct LaunchTensor {
    std::string label;
    std::uint32_t position = 0;  // of its first argument
    std::uint64_t address = 0;
    TensorFacts facts;
    bool is_unwritten = false;  // no earlier call writes its memory, according to the model's source
};

/// An argument of the call in the source. It is a tensor, a list of tensors, or a value.
struct LaunchArgument {
    std::string parameter;  // empty if unknown
    std::uint32_t position = 0;
    Role role = Role::unknown;
    bool is_list = false;
    std::vector<std::string> labels;  // of its tensors; an empty one is absent from the list
    std::string value;                // as Python writes it; empty with labels, or if it is unknown

    [[nodiscard]] bool is_known() const { return is_list || !labels.empty() || !value.empty(); }
};

enum class LaunchKind : std::uint8_t { triton, op };

struct LaunchRecord {
    LaunchKind kind = LaunchKind::triton;
    std::uint32_t run = ~0U;
    std::uint32_t call = ~0U;
    std::uint32_t model = ~0U;
    std::string kernel;     // as PyTorch prints it
    std::string op;         // what is called: aoti_torch_cpu_addmm_out, torch.ops.mylib.my_op.default
    std::string statement;  // the statement of a Python wrapper, with labels for its tensors; may be empty
    std::string function;   // the name in the code
    std::array<std::uint32_t, 3> grid{};
    std::array<std::uint32_t, 3> block{};
    std::array<std::uint32_t, 3> cluster{};  // zeros: none
    std::uint32_t shared_bytes = 0;
    bool is_cooperative = false;
    std::string image;  // the file with the code, in the same folder; empty: unknown
    std::uint64_t image_hash = 0;
    std::string device;
    std::uint32_t compute_capability = 0;  // 90 is 9.0
    std::int32_t driver = 0;               // 13000 is 13.0
    std::vector<LaunchParameter> parameters;
    std::vector<LaunchArgument> arguments;
    std::vector<LaunchTensor> tensors;
};

inline constexpr std::string_view kLaunchFormat = "aoti-dbg launch";
inline constexpr std::uint32_t kLaunchVersion = 2;

std::string render_launch(const LaunchRecord& launch);

/// Accepts any bytes. It is in launch_reader.cpp.
Result<LaunchRecord> read_launch(std::string_view text);

}  // namespace aoti_dbg

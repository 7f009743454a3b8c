// What an input is, held against what the wrapper source says that the model was compiled for. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/wrapper_info.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// One thing that is wrong, in the words of a finding.
struct Mismatch {
    std::string check;  // "dtype"
    std::string expected;
    std::string found;
    std::string advice;
};

/// At most one for each kind of check; none where all is well. `relies_on_strides`: relies_on_strides() of
/// the input.
std::vector<Mismatch> compare_input(const InputGuard& guard, bool relies_on_strides,
                                    const TensorFacts& tensor);

/// What the driver says of a pointer that a kernel is launched with.
struct PointerFacts {
    bool is_known = false;      // to the driver: memory of a device, or of the host that devices can reach
    std::optional<int> device;  // that it lies on; nothing for what is reached from everywhere
    std::optional<int> kernel_device;  // that the kernel runs on; nothing where that is not known
    bool may_reach_host = true;        // the device reads any memory of the process, or that is not known
};

/// `alignment`: bytes that the kernel's code relies on, 0 if none.
std::optional<Mismatch> compare_pointer(std::uint64_t address, std::uint32_t alignment,
                                        const PointerFacts& facts);

/// A layout that a storage is to be looked at with; offset in elements.
struct ViewFacts {
    std::span<const std::int64_t> sizes;
    std::span<const std::int64_t> strides;
    std::int64_t offset = 0;
    std::uint32_t element_bytes = 0;
    std::int64_t storage_bytes = 0;
};

/// Whether it reaches beyond the storage.
std::optional<Mismatch> compare_view(const ViewFacts& view);

}  // namespace aoti_dbg

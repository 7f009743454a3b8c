// Compares an input, a pointer or a view with what the model was compiled for, according to the wrapper
// source. It must not depend on the process or the driver.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/wrapper_info.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// One mismatch, in the words of a finding.
struct Mismatch {
    std::string check;  // such as "dtype"
    std::string expected;
    std::string found;
    std::string advice;
};

/// Returns at most one mismatch per kind of check, and none if the input is right. `relies_on_strides` is
/// relies_on_strides() of the input.
std::vector<Mismatch> compare_input(const InputGuard& guard, bool relies_on_strides,
                                    const TensorFacts& tensor);

/// What the driver reports about a pointer that a kernel receives.
struct PointerFacts {
    bool is_known =
        false;  // the driver knows it as memory of a device, or of the host and visible to devices
    std::optional<int> device;         // where it is; nothing if every device can access it
    std::optional<int> kernel_device;  // where the kernel runs; nothing if unknown
    bool may_reach_host = true;        // the device can read any memory of the process, or that is unknown
};

/// `alignment` is the number of bytes that the kernel's code relies on, or 0.
std::optional<Mismatch> compare_pointer(std::uint64_t address, std::uint32_t alignment,
                                        const PointerFacts& facts);

/// The layout of a view of a storage. The offset counts elements.
struct ViewFacts {
    std::span<const std::int64_t> sizes;
    std::span<const std::int64_t> strides;
    std::int64_t offset = 0;
    std::uint32_t element_bytes = 0;
    std::int64_t storage_bytes = 0;
};

/// Returns a mismatch if the view reaches beyond the storage.
std::optional<Mismatch> compare_view(const ViewFacts& view);

}  // namespace aoti_dbg

// Tensors for tests that save and read `.pt` files: each dtype in each possible layout, with reproducible
// random bytes. A judge of these files must not know how they were created.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "serializer/crc32.hpp"
#include "serializer/pt_file.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::test {

struct PtCase {
    std::string name;
    DType dtype{};
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> strides;
    std::int64_t offset = 0;
    std::vector<std::byte> storage;
    std::string device = "cpu";
    MathBits bits = {};

    [[nodiscard]] PtTensor tensor() const {
        return {dtype, sizes, strides, offset, storage.size(), device, bits};
    }
};

inline std::vector<std::byte> whole_file(const PtCase& saved) {
    const PtFrame frame = pt_frame(saved.tensor(), crc32(0, saved.storage));
    std::vector<std::byte> file = frame.head;
    file.insert(file.end(), saved.storage.begin(), saved.storage.end());
    file.insert(file.end(), frame.tail.begin(), frame.tail.end());
    return file;
}

inline std::vector<PtCase> pt_cases() {
    struct Layout {
        const char* name;
        std::vector<std::int64_t> sizes;
        std::vector<std::int64_t> strides;
        std::int64_t offset;
        std::size_t elements;        // in the storage
        std::size_t more_bytes = 0;  // an incomplete last element, for elements of several bytes
        const char* device = "cpu";
        MathBits bits = {};
    };
    const std::vector<std::int64_t> ones(64, 1);
    const Layout layouts[] = {
        {"contiguous", {2, 3}, {3, 1}, 0, 6},
        {"transposed", {3, 2}, {1, 3}, 0, 6},
        {"slice", {2, 2}, {3, 1}, 4, 12},
        {"part_of_many", {1}, {1}, 70000, 70001},
        {"gaps", {3}, {2}, 1, 6},
        {"overlapping", {3, 2}, {1, 1}, 0, 4},
        {"expanded", {2, 3, 4}, {0, 1, 0}, 0, 3},
        {"expanded_far", {300, 70000, 2147483648}, {0, 0, 0}, 0, 1},
        {"scalar", {}, {}, 0, 1},
        {"scalar_inside", {}, {}, 300, 301},
        {"empty", {0}, {1}, 0, 0},
        {"empty_of_three", {3, 0, 2}, {2, 2, 1}, 0, 0},
        {"empty_of_some", {0, 2}, {2, 1}, 1, 4},
        {"empty_at_the_end", {2, 0}, {4, 1}, 4, 0},
        {"five_dimensions", {2, 1, 2, 1, 2}, {4, 4, 2, 2, 1}, 0, 8},
        {"most_dimensions", ones, ones, 0, 1},
        {"far_strides", {1, 1, 1}, {255, 65536, 1099511627776}, 0, 1},
        {"not_whole", {2}, {1}, 0, 2, 1},
        {"of_a_gpu", {5}, {1}, 0, 5, 0, "cuda:0"},
        {"of_another_gpu", {2}, {1}, 1, 3, 0, "cuda:13"},
        {"conjugate", {2, 3}, {3, 1}, 1, 7, 0, "cpu", {true, false}},
        {"negative", {3, 2}, {1, 3}, 0, 6, 0, "cpu", {false, true}},
        {"conjugate_and_negative", {4}, {1}, 0, 4, 0, "cpu", {true, true}},
    };
    Random random;
    std::vector<PtCase> cases;
    for (std::uint32_t number = 0; number < kDTypes; ++number)
        for (const Layout& layout : layouts) {
            PtCase made;
            made.dtype = static_cast<DType>(number);
            made.name = std::string(dtype_name(made.dtype)) + "_" + layout.name;
            made.sizes = layout.sizes;
            made.strides = layout.strides;
            made.offset = layout.offset;
            made.device = layout.device;
            // PyTorch never sets the conjugate bit of a real tensor.
            made.bits = {layout.bits.conjugate && is_complex(made.dtype), layout.bits.negative};
            const std::size_t each = element_size(made.dtype);
            made.storage.resize(layout.elements * each + (each > 1 ? layout.more_bytes : 0));
            for (std::byte& byte : made.storage)
                byte = static_cast<std::byte>(random.below(made.dtype == DType::boolean ? 2 : 256));
            cases.push_back(std::move(made));
        }
    return cases;
}

}  // namespace aoti_dbg::test

// The kernels that a module may name. Parameters are passed by address, as to cuLaunchKernel. Letters give
// their types: p pointer, l 8 bytes, i 4 bytes, f float, t tensor map of 128 bytes. A kernel returns false to
// fault.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

template <typename T>
T value(const std::byte* const* parameters, std::size_t index) {
    T result;
    std::memcpy(&result, parameters[index], sizeof(T));
    return result;
}

float* floats(const std::byte* const* p, std::size_t index) {
    return value<float*>(p, index);
}
std::int32_t integer(const std::byte* const* p, std::size_t index) {
    return value<std::int32_t>(p, index);
}

bool nop(const std::byte* const*, const LaunchShape&) {
    return true;
}

bool fault(const std::byte* const*, const LaunchShape&) {
    return false;
}

bool fill(const std::byte* const* p, const LaunchShape&) {
    for (std::int32_t i = 0; i < integer(p, 2); ++i)
        floats(p, 0)[i] = value<float>(p, 1);
    return true;
}

bool add(const std::byte* const* p, const LaunchShape&) {
    for (std::int32_t i = 0; i < integer(p, 3); ++i)
        floats(p, 2)[i] = floats(p, 0)[i] + floats(p, 1)[i];
    return true;
}

bool add_twice(const std::byte* const* p, const LaunchShape&) {
    for (std::int32_t i = 0; i < integer(p, 3); ++i)
        floats(p, 2)[i] = floats(p, 0)[i] + 2 * floats(p, 1)[i];
    return true;
}

// in_out[i] = max(in_out[i] + bias[i % 16], 0), for rows of 16 as in the fake models.
bool bias_relu(const std::byte* const* p, const LaunchShape&) {
    for (std::int32_t i = 0; i < integer(p, 2); ++i) {
        const float sum = floats(p, 0)[i] + floats(p, 1)[i % 16];
        floats(p, 0)[i] = sum > 0 ? sum : 0;
    }
    return true;
}

bool scale(const std::byte* const* p, const LaunchShape&) {
    for (std::int32_t i = 0; i < integer(p, 3); ++i)
        floats(p, 1)[i] = floats(p, 0)[i] * value<float>(p, 2);
    return true;
}

// out[m, n] = a[m, k] x b[k, n]
bool matmul(const std::byte* const* p, const LaunchShape&) {
    const std::int32_t rows = integer(p, 3);
    const std::int32_t columns = integer(p, 4);
    const std::int32_t inner = integer(p, 5);
    for (std::int32_t m = 0; m < rows; ++m) {
        for (std::int32_t n = 0; n < columns; ++n) {
            float sum = 0;
            for (std::int32_t k = 0; k < inner; ++k)
                sum += floats(p, 0)[m * inner + k] * floats(p, 1)[k * columns + n];
            floats(p, 2)[m * columns + n] = sum;
        }
    }
    return true;
}

// out[m, n] = bias[n] + a[m, k] x weight[n, k]
bool linear(const std::byte* const* p, const LaunchShape&) {
    const std::int32_t rows = integer(p, 4);
    const std::int32_t columns = integer(p, 5);
    const std::int32_t inner = integer(p, 6);
    for (std::int32_t m = 0; m < rows; ++m) {
        for (std::int32_t n = 0; n < columns; ++n) {
            float sum = floats(p, 1)[n];
            for (std::int32_t k = 0; k < inner; ++k)
                sum += floats(p, 2)[m * inner + k] * floats(p, 3)[n * inner + k];
            floats(p, 0)[m * columns + n] = sum;
        }
    }
    return true;
}

// Yields NaN for negative values.
bool square_root(const std::byte* const* p, const LaunchShape&) {
    for (std::int32_t i = 0; i < integer(p, 2); ++i)
        floats(p, 1)[i] = std::sqrt(floats(p, 0)[i]);
    return true;
}

// As square_root, with a relative error of 1e-6.
bool rough_root(const std::byte* const* p, const LaunchShape&) {
    for (std::int32_t i = 0; i < integer(p, 2); ++i)
        floats(p, 1)[i] = std::sqrt(floats(p, 0)[i]) * 1.000001F;
    return true;
}

// out[i] = in[i] + in[i + 1], which reads one element past the end.
bool neighbor_sum(const std::byte* const* p, const LaunchShape&) {
    for (std::int32_t i = 0; i < integer(p, 2); ++i) {
        const float* const next = floats(p, 0) + i + 1;
        if (!is_known(reinterpret_cast<std::uintptr_t>(next), sizeof *next)) return false;
        floats(p, 1)[i] = next[-1] + *next;
    }
    return true;
}

// out[i] += in[i], although its caller expects that it only writes.
bool accumulate(const std::byte* const* p, const LaunchShape&) {
    for (std::int32_t i = 0; i < integer(p, 2); ++i)
        floats(p, 1)[i] += floats(p, 0)[i];
    return true;
}

// Faults in block [4, 1, 0] if row 5 of 16 columns has both a 4 and a 9.
bool faulting_row(const std::byte* const* p, const LaunchShape& shape) {
    const float* const row = floats(p, 0) + std::ptrdiff_t{5} * 16;
    const bool has_both = std::count(row, row + 16, 4.0F) != 0 && std::count(row, row + 16, 9.0F) != 0;
    return !has_both || shape.grid[0] < 5 || shape.grid[1] < 2;
}

// Block x faults if element 17 * x is 9. Of the input of the fake models, this is so in block 3.
bool faulting_index(const std::byte* const* p, const LaunchShape& shape) {
    for (unsigned block = 0; block < std::min(shape.grid[0], 8U); ++block)
        if (floats(p, 0)[17 * block] == 9) return false;
    return true;
}

// out[i] = in[i], plus a number that is new in each launch of at least 3 blocks with an input from 4.
bool unsteady(const std::byte* const* p, const LaunchShape& shape) {
    static std::atomic<int> launches{0};
    const auto added = static_cast<float>(++launches);
    for (std::int32_t i = 0; i < integer(p, 2); ++i) {
        const float in = floats(p, 0)[i];
        floats(p, 1)[i] = in + (in < 4 || shape.grid[0] < 3 ? 0 : added);
    }
    return true;
}

// Faults if in[7] is 9, and does not end if it is negative.
bool endless(const std::byte* const* p, const LaunchShape&) {
    const float in = floats(p, 0)[7];
    while (in < 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return in != 9;
}

// mask[i] = in[i] > 2, index[i] = 2^53 + i. A double cannot represent every second index.
bool compare_and_count(const std::byte* const* p, const LaunchShape&) {
    auto* mask = value<std::uint8_t*>(p, 1);
    auto* index = value<std::int64_t*>(p, 2);
    for (std::int32_t i = 0; i < integer(p, 3); ++i) {
        mask[i] = floats(p, 0)[i] > 2 ? 1 : 0;
        index[i] = (std::int64_t{1} << 53U) + i;
    }
    return true;
}

bool count(const std::byte* const* p, const LaunchShape&) {
    ++*value<std::uint64_t*>(p, 0);
    return true;
}

// Runs until another thread writes to the flag, as a launched kernel that has not completed.
bool wait(const std::byte* const* p, const LaunchShape&) {
    const std::atomic_ref<std::uint32_t> flag(*value<std::uint32_t*>(p, 0));
    while (flag.load(std::memory_order_acquire) == 0)
        std::this_thread::yield();
    return true;
}

struct Builtin {
    const char* name;
    HostKernel kernel;
    const char* letters;
};

constexpr Builtin kBuiltins[] = {
    {"nop", nop, ""},
    {"fault", fault, ""},
    {"fill", fill, "pfi"},
    {"add", add, "pppi"},
    {"add_twice", add_twice, "pppi"},
    {"bias_relu", bias_relu, "ppi"},
    {"scale", scale, "ppfi"},
    {"matmul", matmul, "pppiii"},
    {"linear", linear, "ppppiii"},
    {"square_root", square_root, "ppi"},
    {"rough_root", rough_root, "ppi"},
    {"neighbor_sum", neighbor_sum, "ppi"},
    {"accumulate", accumulate, "ppi"},
    {"faulting_row", faulting_row, "ppi"},
    {"faulting_index", faulting_index, "ppi"},
    {"unsteady", unsteady, "ppi"},
    {"endless", endless, "ppi"},
    {"compare_and_count", compare_and_count, "pppi"},
    {"count", count, "p"},
    {"wait", wait, "p"},
};

}  // namespace

bool find_builtin(const std::string& name, HostKernel& kernel, std::string& letters) {
    for (const Builtin& builtin : kBuiltins) {
        if (name != builtin.name) continue;
        kernel = builtin.kernel;
        letters = builtin.letters;
        return true;
    }
    return false;
}

}  // namespace fake_cuda

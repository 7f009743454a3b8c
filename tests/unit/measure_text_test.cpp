// The text of level 2, against what PyTorch 2.11's own printer wrote of the same tensors.
#include "shim/measure/tensor_text.hpp"

#include <clocale>
#include <cmath>
#include <limits>

#include "shim/measure/number_text.hpp"
#include "stats_kernels/cpu_statistics.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg {
namespace {

template <typename Element>
struct Held {
    std::vector<Element> elements;
    TensorInfo info;

    Held(DType dtype, std::vector<std::int64_t> sizes, std::vector<Element> values)
        : elements(std::move(values)) {
        info.dtype = dtype;
        info.data = elements.data();
        info.on_cpu = true;
        info.sizes = std::move(sizes);
        info.strides.assign(info.sizes.size(), 1);
        for (std::size_t i = info.sizes.size(); i-- > 1;)
            info.strides[i - 1] = info.strides[i] * info.sizes[i];
    }
    [[nodiscard]] std::string text() const {
        const TensorStatistics statistics = measure(info.view(), Wanted::printed);
        return tensor_text("before_launch - kernel - buf0", info, &statistics);
    }
};

std::string values(std::vector<std::int64_t> sizes, std::vector<float> elements) {
    return values_text(Held<float>(DType::float32, std::move(sizes), std::move(elements)).info);
}

TEST_CASE(
    "A tensor is written line for line as PyTorch writes it, with the standard deviation after the maximum") {
    const Held<float> held(DType::float32, {2, 2}, {1.0F, 2.5F, 3.0F, 0.0F});
    CHECK(held.text() ==
          "[  before_launch - kernel - buf0  ]:\n"
          " 1.0000  2.5000\n"
          " 3.0000  0.0000\n"
          "[ CPUFloatType{2,2} ]\n"
          "Number of elements: 4\n"
          "Dtype: float32\n"
          "Mean value: 1.625\n"
          "Min value: 0\n"
          "Max value: 3\n"
          "Std value: 1.37689\n"
          "Device: cpu\n"
          "Size: [2, 2]\n"
          "Stride: [2, 1]\n"
          "Layout: Strided\n"
          "Is contiguous: 1\n"
          "Requires grad: 0\n"
          "\n");
}

TEST_CASE("NaN and Inf are counted on a line of their own, where there are any") {
    const float inf = std::numeric_limits<float>::infinity();
    const Held<float> held(DType::float32, {5}, {std::nanf(""), 1, inf, -inf, inf});
    CHECK(held.text().find("\nNaN/Inf: 1 NaN, 2 +Inf, 1 -Inf\nDevice: cpu\n") != std::string::npos);
    CHECK(held.text().find("Mean value: nan\n") != std::string::npos);
    CHECK(Held<float>(DType::float32, {1}, {1}).text().find("NaN/Inf") == std::string::npos);
}

TEST_CASE("Integers keep all their digits") {
    const Held<std::int64_t> held(DType::int64, {2}, {9007199254740993, -1});
    CHECK(held.text().find("Max value: 9007199254740993\n") != std::string::npos);
    CHECK(held.text().find("Dtype: long int\n") != std::string::npos);
}

TEST_CASE("An empty tensor has neither values nor statistics") {
    const Held<float> held(DType::float32, {2, 0, 3}, {});
    CHECK(held.text().find(
              "]:\n[ CPUFloatType{2,0,3} ]\nNumber of elements: 0\nDtype: float32\nDevice: cpu\n") !=
          std::string::npos);
}

TEST_CASE("More than 64 values are not written") {
    CHECK(Held<float>(DType::float32, {64}, std::vector<float>(64)).text().find("CPUFloatType") !=
          std::string::npos);
    CHECK(Held<float>(DType::float32, {65}, std::vector<float>(65)).text().find("CPUFloatType") ==
          std::string::npos);
}

TEST_CASE("What is not measured says why, and all that is known besides") {
    Held<float> held(DType::float32, {2}, {1, 2});
    held.info.on_cpu = false;
    held.info.on_cuda = true;
    held.info.device_index = 1;
    held.info.unmeasured = "it does not lie in host memory";
    CHECK(tensor_text("t", held.info, nullptr) ==
          "[  t  ]:\nNumber of elements: 2\nDtype: float32\nNot measured: it does not lie in host memory\n"
          "Device: cuda:1\nSize: [2]\nStride: [1]\nLayout: Strided\nIs contiguous: 1\nRequires grad: 0\n\n");
}

TEST_CASE("The format of values is chosen by their magnitudes, as at::print does") {
    CHECK(values({2}, {123456.5F, 1}) == " 1.2346e+05\n 1.0000e+00\n[ CPUFloatType{2} ]\n");
    CHECK(values({2}, {1e-7F, 5e-7F}) == "1e-07 *\n 1.0000\n 5.0000\n[ CPUFloatType{2} ]\n");
    CHECK(values({2}, {0.0012F, 0.0025F}) == "0.001 *\n 1.2000\n 2.5000\n[ CPUFloatType{2} ]\n");
    CHECK(values({2}, {1.5F, -200.25F}) == "   1.5000\n-200.2500\n[ CPUFloatType{2} ]\n");
    CHECK(values({2}, {-1, -1000}) == "   -1\n-1000\n[ CPUFloatType{2} ]\n");
    CHECK(values({2}, {1e10F, 5}) == " 1.0000e+10\n 5.0000e+00\n[ CPUFloatType{2} ]\n");
    CHECK(values({1}, {1234567.25F}) == "1000000 *\n 1.2346\n[ CPUFloatType{1} ]\n");
    CHECK(values({3}, {std::nanf(""), 1, HUGE_VALF}) == "nan\n 1\ninf\n[ CPUFloatType{3} ]\n");
    CHECK(values({0}, {}) == "[ CPUFloatType{0} ]\n");
}

TEST_CASE("A scalar is written with as many digits as tell it from others") {
    CHECK(values({}, {0.1F}) == "0.10000000149011612\n[ CPUFloatType{} ]\n");
    CHECK(values({}, {1e10F}) == "10000000000\n[ CPUFloatType{} ]\n");
    CHECK(values({}, {3.25F}) == "3.25\n[ CPUFloatType{} ]\n");
    CHECK(values({}, {0}) == "0\n[ CPUFloatType{} ]\n");
    CHECK(values_text(Held<std::int64_t>(DType::int64, {}, {123456789}).info) ==
          "123456789\n[ CPULongType{} ]\n");
}

TEST_CASE("Lines that are too long are cut into columns, scaled or not") {
    const std::vector<float> twelve = {1.5F, -0.25F, 2, 1, 1, 1, 1, 1, 1, 1, 0.75F, 1};
    CHECK(values({1, 12}, twelve) ==
          "Columns 1 to 10 1.5000 -0.2500  2.0000  1.0000  1.0000  1.0000  1.0000  1.0000  1.0000  1.0000\n"
          "\n"
          "Columns 11 to 12 0.7500  1.0000\n"
          "[ CPUFloatType{1,12} ]\n");
    std::vector<float> scaled = twelve;
    for (float& value : scaled)
        value = value * 1000000 + 0.5F;
    CHECK(values({1, 12}, scaled).find("Columns 1 to 101000000 *\n 1.5000 -0.2500") == 0);
}

TEST_CASE("A tensor of more dimensions is a list of matrices, each in a format of its own") {
    CHECK(values({2, 2, 3}, {1541000.5F, -293400, -2178800, 568400, -1084500, -1398600, 403350.5F, 838030,
                             -719260, -403340, -596640, 182040}) ==
          "(1,.,.) = \n"
          "1000000 *\n"
          "  1.5410 -0.2934 -2.1788\n"
          "   0.5684 -1.0845 -1.3986\n"
          "\n"
          "(2,.,.) = \n"
          "100000 *\n"
          "  4.0335  8.3803 -7.1926\n"
          "  -4.0334 -5.9664  1.8204\n"
          "[ CPUFloatType{2,2,3} ]\n");
}

TEST_CASE("A transposed tensor is written in its logical order") {
    Held<float> held(DType::float32, {2, 3}, {1, 4, 2, 5, 3, 6});
    held.info.strides = {1, 2};
    CHECK(values_text(held.info) == " 1  2  3\n 4  5  6\n[ CPUFloatType{2,3} ]\n");
    CHECK_FALSE(held.info.is_contiguous());
}

TEST_CASE("Numbers are written alike in every locale") {
    const char* const found = std::setlocale(LC_ALL, "de_DE.UTF-8");
    CHECK(number_text(0.5) == "0.5");
    CHECK(fixed_text(-0.25, 4) == "-0.2500");
    CHECK(shortest_text(1.0 / 3) == "0.3333333333333333");
    if (found != nullptr) std::setlocale(LC_ALL, "C");
}

TEST_CASE("A scalar argument is one line") {
    CHECK(scalar_line("before_launch - kernel - s77", "8") == "[  before_launch - kernel - s77: 8  ]\n");
}

}  // namespace
}  // namespace aoti_dbg

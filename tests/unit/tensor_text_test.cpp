// The text of saved tensors, by dtype and layout.
#include "cli/show/tensor_text.hpp"

#include <cstring>
#include <limits>
#include <sstream>

#include "tests/support/catch.hpp"

namespace aoti_dbg::cli::tensor_text_test {
namespace {

/// A tensor whose storage has these elements.
template <typename Element>
struct Saved {
    Saved(DType dtype, std::vector<Element> given, std::vector<std::int64_t> sizes,
          std::vector<std::int64_t> strides)
        : elements(std::move(given)) {
        view.dtype = dtype;
        view.sizes = std::move(sizes);
        view.strides = std::move(strides);
        view.device = "cuda:0";
        view.storage = std::as_bytes(std::span(elements));
    }
    std::vector<Element> elements;
    PtView view;
};

std::vector<std::string> lines_of(const PtView& view) {
    std::vector<std::string> lines;
    std::istringstream text(tensor_text(view));
    for (std::string line; std::getline(text, line);)
        lines.push_back(line);
    return lines;
}

TEST_CASE("A tensor is shown in its logical order, with bounds, values and a histogram") {
    const Saved<float> saved(DType::float32, {0, 1, 2, 3, 4, 10}, {2, 3}, {1, 2});
    const std::vector<std::string> lines = lines_of(saved.view);
    REQUIRE(lines.size() == 14);
    CHECK(lines[0] == "tensor     float32[2,3], strides [1,2], from cuda:0, 24 bytes of storage");
    CHECK(lines[1] == "elements   6: 1 zero");
    CHECK(lines[2] == "finite     min 0, max 10, mean 3.33333, std 3.55903");
    CHECK(lines[3] == "values     0, 2, 4, 1, 3, 10");
    CHECK(lines[4] == "histogram  0 to 1                     1         " + std::string(40, '#'));
    CHECK(lines[9] == "           5 to 6                     0");
    CHECK(lines[13] == "           9 to 10                    1         " + std::string(40, '#'));
}

TEST_CASE("The counts and bars of a histogram are below each other, however long the numbers are") {
    const Saved<float> saved(DType::float32, {-1.23457e-10F, 2.34568e-09F, 1e-09F}, {3}, {1});
    const std::vector<std::string> lines = lines_of(saved.view);
    REQUIRE(lines.size() == 14);
    const std::size_t bar = lines[4].find('#');
    REQUIRE(bar != std::string::npos);
    for (std::size_t i = 4; i < 14; ++i) {
        CAPTURE(lines[i]);
        const std::size_t count = lines[i].find_first_of("01", bar - 10);
        CHECK(count == bar - 10);
        CHECK(lines[i].find('#') == (lines[i][count] == '0' ? std::string::npos : bar));
    }
}

TEST_CASE("Elements that are not finite are counted, and the first is named") {
    const float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Saved<float> saved(DType::float32, {1, 2, -nan, infinity, -infinity}, {5}, {1});
    const std::vector<std::string> lines = lines_of(saved.view);
    CHECK(lines.at(1) == "elements   5: 1 NaN, 1 +Inf, 1 -Inf; the first that is not finite is element 2");
    CHECK(lines.at(3) == "values     1, 2, nan, inf, -inf");
}

TEST_CASE("Integers are exact, and bool has no histogram") {
    const Saved<std::int64_t> large(DType::int64, {9007199254740993, -5}, {2}, {1});
    CHECK(lines_of(large.view).at(2).starts_with("finite     min -5, max 9007199254740993, "));
    CHECK(lines_of(large.view).at(3) == "values     9007199254740993, -5");
    const Saved<std::uint8_t> truth(DType::boolean, {1, 0, 1}, {3}, {1});
    CHECK(lines_of(truth.view).back() == "values     true, false, true");
}

TEST_CASE("Conjugate and packed elements are shown as torch reads them") {
    Saved<float> complex(DType::complex64, {1, 2, 3, -4}, {2}, {1});
    complex.view.bits.conjugate = true;
    CHECK(lines_of(complex.view).at(3) == "imaginary  min -2, max 4, mean 1, std 4.24264");
    CHECK(lines_of(complex.view).at(4) == "values     1 + -2j, 3 + 4j");
    const Saved<std::uint8_t> packed(DType::float4_e2m1fn_x2, {0x42}, {1}, {1});
    CHECK(lines_of(packed.view).at(3) == "values     1, 2");
}

TEST_CASE("A tensor without elements has only its shape, and an expanded one repeats its elements") {
    const Saved<float> empty(DType::float32, {}, {0, 3}, {3, 1});
    CHECK(lines_of(empty.view).size() == 2);
    const Saved<float> expanded(DType::float32, {7}, {9}, {0});
    CHECK(lines_of(expanded.view).back() == "values     7, 7, 7, 7, 7, 7, 7, 7, ...");
}

}  // namespace
}  // namespace aoti_dbg::cli::tensor_text_test

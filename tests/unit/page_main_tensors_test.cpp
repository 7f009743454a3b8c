// The numbers that calls without details have on a page: three characters each, for one tensor on each side.
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>

#include "cli/page/main_tensors.hpp"
#include "cli/page/page_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::cli::page_main_tensors_test {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::string packed(double number) {
    std::string text;
    append_packed(number, text);
    return text;
}

/// As main_tensors.js does it, apart from an unknown number, which becomes a NaN here.
double unpacked(std::string_view text) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::uint32_t code = 0;
    for (const char digit : text)
        code = code * 64 + static_cast<std::uint32_t>(kDigits.find(digit));
    return std::bit_cast<float>(code << 14U);
}

RowTensor tensor_of(std::uint16_t argument, double mean, std::uint64_t nan = 0, std::uint64_t infinite = 0) {
    RowTensor tensor;
    tensor.argument = argument;
    tensor.is_measured = tensor.has_moments = true;
    tensor.mean = mean;
    tensor.nan = nan;
    tensor.infinite = infinite;
    return tensor;
}

PageSite site_with(const std::vector<Role>& roles) {
    PageSite site;
    for (const Role role : roles)
        site.arguments.emplace_back().role = role;
    return site;
}

double mean_of_main(const PageSite& site, const std::vector<RowTensor>& tensors, bool is_after) {
    const RowTensor* const tensor = main_tensor(site, tensors, is_after);
    return tensor == nullptr ? -1 : tensor->mean;
}

TEST_CASE("Three characters hold three digits of any number that a float has") {
    Random random(3);
    for (int round = 0; round < 20'000; ++round) {
        const double number = std::ldexp(1 + static_cast<double>(random.below(1U << 30U)) / (1U << 30U),
                                         static_cast<int>(random.below(250)) - 125) *
                              (round % 2 == 0 ? 1 : -1);
        const std::string text = packed(number);
        REQUIRE(text.size() == 3);
        CHECK(std::abs(unpacked(text) / number - 1) < 1e-3);
    }
    for (const double exact : {0.0, 1.0, -2.5, 512.0, 1e3 + 23})
        CHECK(unpacked(packed(exact)) == exact);
    CHECK(std::isfinite(unpacked(packed(std::numeric_limits<float>::max()))));
    CHECK(unpacked(packed(kInfinite)) == kInfinite);
    CHECK(unpacked(packed(-kInfinite)) == -kInfinite);
    CHECK(std::isnan(unpacked(packed(-std::nan("")))));
}

TEST_CASE("A number that no float holds is unknown, and differs from a NaN") {
    CHECK(packed(kUnknown) == "///");
    CHECK(packed(1e300) == "///");
    CHECK(packed(-1e-300) == "///");
    CHECK(packed(std::nan("")) != "///");
    CHECK(packed(-std::nan("")) != "///");
}

TEST_CASE("What a call reads stands for it before, and what it writes after it") {
    const PageSite site = site_with({Role::reads, Role::updates, Role::writes, Role::makes});
    const std::vector<RowTensor> tensors = {tensor_of(2, 2), tensor_of(0, 0), tensor_of(1, 1)};
    CHECK(mean_of_main(site, tensors, false) == 0);
    CHECK(mean_of_main(site, tensors, true) == 2);
    CHECK(mean_of_main(site_with({Role::reads, Role::unknown, Role::reads}), tensors, true) == 1);
    CHECK(mean_of_main(site_with({Role::reads, Role::reads, Role::reads}), tensors, true) == 2);
    CHECK(main_tensor(site, {}, true) == nullptr);
}

TEST_CASE("A tensor with NaN or Inf stands for the others") {
    const PageSite site = site_with({Role::writes, Role::writes, Role::writes});
    CHECK(mean_of_main(site, {tensor_of(0, 5), tensor_of(1, 6, 0, 1), tensor_of(2, 7, 1)}, true) == 7);
    CHECK(mean_of_main(site, {tensor_of(0, 5), tensor_of(1, 6, 0, 1)}, true) == 6);
    RowTensor unmeasured = tensor_of(0, 5);
    unmeasured.is_measured = unmeasured.has_moments = false;
    CHECK(mean_of_main(site, {unmeasured, tensor_of(1, 6)}, true) == 6);
    CHECK(mean_of_main(site, {unmeasured}, true) == 5);
}

}  // namespace
}  // namespace aoti_dbg::cli::page_main_tensors_test

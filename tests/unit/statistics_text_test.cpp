// The kept texts of statistics against the texts of a new object, for every dtype and request.
#include "serializer/statistics_text.hpp"

#include <random>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"

namespace aoti_dbg::statistics_text_test {
namespace {

Number number_of(DType dtype, std::uint64_t bits) {
    Number number;
    if (is_unsigned(dtype)) {
        number.kind = Number::Kind::unsigned_integer;
        number.unsigned_integer = bits;
    } else if (is_integer(dtype)) {
        number.kind = Number::Kind::signed_integer;
        number.signed_integer = static_cast<std::int64_t>(bits);
    } else {
        number.floating = static_cast<double>(static_cast<float>(bits) / 1000);
    }
    return number;
}

TensorStatistics statistics_of(std::mt19937_64& random) {
    TensorStatistics statistics;
    do
        statistics.dtype = static_cast<DType>(random() % kDTypes);
    while (is_complex(statistics.dtype));
    statistics.requested = static_cast<Requested>(random() % 16);
    statistics.count = random() % 3;
    statistics.hash = random() % 2;
    RealStatistics& real = statistics.real;
    real.all.mean = static_cast<double>(random() % 3) / 7;
    real.all.standard_deviation = static_cast<double>(random() % 2) / 3;
    real.all.minimum = number_of(statistics.dtype, random() % 2);
    real.all.maximum = number_of(statistics.dtype, random() % 3);
    real.zeros = random() % 2;
    real.minimum_index = random() % 2;
    real.maximum_index = random() % 2 == 0 ? kNoIndex : 0;
    real.sum_low = random() % 2;
    real.sum_high = -static_cast<std::int64_t>(random() % 2);
    return statistics;
}

}  // namespace

TEST_CASE("Complex statistics and those with NaN or Inf have no kept text") {
    TensorStatistics statistics;
    CHECK(StatisticsTexts::are_plain(statistics));
    statistics.dtype = DType::complex64;
    CHECK_FALSE(StatisticsTexts::are_plain(statistics));
    for (std::uint64_t RealStatistics::*count :
         {&RealStatistics::nan, &RealStatistics::positive_infinity, &RealStatistics::negative_infinity}) {
        statistics = {};
        statistics.real.*count = 1;
        CHECK_FALSE(StatisticsTexts::are_plain(statistics));
    }
}

TEST_CASE("The longest texts fit") {
    TensorStatistics statistics;
    statistics.count = 1;
    statistics.hash = ~std::uint64_t{0};
    statistics.requested = static_cast<Requested>(15);
    RealStatistics& real = statistics.real;
    real.all.mean = real.all.standard_deviation = -1.7976931348623157e+308;
    real.zeros = real.minimum_index = real.maximum_index = kNoIndex - 1;
    real.sum_high = INT64_MIN;
    statistics.dtype = DType::int64;
    real.all.minimum = real.all.maximum = number_of(DType::int64, std::uint64_t{1} << 63U);
    StatisticsTexts texts;
    CHECK(texts.lines(statistics).size() == (12 + 13 + 1) + (11 + 13 + 1) + 2 * (11 + 20 + 1));
    CHECK(texts.members(statistics).ends_with(R"("hash":"ffffffffffffffff")"));
    statistics.dtype = DType::float64;
    real.all.minimum = real.all.maximum = Number{.floating = -1.7976931348623157e+308};
    CHECK(texts.members(statistics).find(R"("max":-1.7976931348623157e+308,)") != std::string_view::npos);
}

TEST_CASE("Kept texts are those of the same statistics") {
    std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): tests repeat
    StatisticsTexts kept;
    for (int i = 0; i < 1500; ++i) {
        const TensorStatistics statistics = statistics_of(random);
        StatisticsTexts fresh;
        const std::string lines(fresh.lines(statistics));
        const std::string members(fresh.members(statistics));
        if (kept.lines(statistics) != lines) CHECK(kept.lines(statistics) == lines);
        if (kept.members(statistics) != members) CHECK(kept.members(statistics) == members);
    }
    CHECK(kept.lines({}).empty());
}

}  // namespace aoti_dbg::statistics_text_test

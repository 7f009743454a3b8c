// Which streams stand still: by what has ended at each look, and by nothing else.
#include "shim/observe/standing_streams.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg::test {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
using Marks = std::vector<std::uint32_t>;

/// A limit of three seconds, and a look each second.
class Looks {
  public:
    void look(const std::vector<UnendedMark>& unended, std::uint64_t ended) {
        streams.note(unended, ended, kSecond);
    }
    StandingStreams streams{3 * kSecond};
};

TEST_CASE(
    "A stream is due when its first launch has not ended for so long, once a second, until it is told") {
    Looks looks;
    for (int second = 0; second < 3; ++second) {
        looks.look({{7, 4}}, 4);
        CHECK_FALSE(looks.streams.has_due());
    }
    looks.look({{7, 4}}, 4);
    CHECK(looks.streams.has_due());
    CHECK(looks.streams.due() == Marks{7});
    CHECK_FALSE(looks.streams.has_due());
    looks.look({{7, 4}}, 4);
    CHECK(looks.streams.due() == Marks{7});
    looks.streams.set_told(7);
    looks.look({{7, 4}}, 4);
    CHECK_FALSE(looks.streams.has_due());
    CHECK(looks.streams.told() == std::map<std::uint32_t, std::uint64_t>{{7, 5 * kSecond}});
    CHECK_FALSE(looks.streams.has_gone_on());
}

TEST_CASE("What ends begins anew, and so does what is behind it") {
    Looks looks;
    for (std::uint64_t second = 0; second < 20; ++second) {
        looks.look({{7, second / 2}}, second / 2);
        CHECK_FALSE(looks.streams.has_due());
    }
}

TEST_CASE("No stream stands as long as anything ends on another, which it may wait for") {
    Looks looks;
    std::uint64_t ended = 0;
    for (; ended < 10; ++ended) {
        looks.look({{7, 4}}, 4 + ended);
        CHECK_FALSE(looks.streams.has_due());
    }
    for (int second = 0; second < 3; ++second)
        looks.look({{7, 4}}, 4 + ended);
    CHECK_FALSE(looks.streams.has_due());
    looks.look({{7, 4}}, 4 + ended);
    CHECK(looks.streams.due() == Marks{7});
}

TEST_CASE("One that was told of has gone on when its launch has ended, whether another is behind it or not") {
    for (const bool is_last : {true, false}) {
        Looks looks;
        for (int second = 0; second < 4; ++second)
            looks.look({{7, 4}, {9, 1}}, 5);
        CHECK(looks.streams.due() == Marks{7, 9});
        looks.streams.set_told(7);
        looks.look({{7, 4}}, 6);
        CHECK_FALSE(looks.streams.has_gone_on());  // of the other nobody was told
        if (is_last) {
            looks.look({}, 7);
        } else {
            looks.look({{7, 5}}, 7);
        }
        CHECK(looks.streams.has_gone_on());
        CHECK(looks.streams.told().empty());
        looks.look({}, 8);
        CHECK_FALSE(looks.streams.has_gone_on());
    }
}

}  // namespace
}  // namespace aoti_dbg::test

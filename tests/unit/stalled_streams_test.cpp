// Which streams stand still: by what has ended at each look, and by nothing else.
#include "shim/faults/stalled_streams.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"

namespace aoti_dbg::test {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// A limit of three seconds, and a look each second.
class Looks {
  public:
    void look(const std::vector<UnendedMark>& unended, std::uint64_t ended) {
        streams.note(unended, ended, kSecond);
    }
    [[nodiscard]] std::vector<std::uint32_t> ask() {
        std::vector<std::uint32_t> marks;
        for (const UnendedMark& at : streams.ask())
            marks.insert(marks.end(), at.mark);
        return marks;
    }
    StalledStreams streams{3 * kSecond};
};

using Marks = std::vector<std::uint32_t>;

TEST_CASE("A stream is due when its first launch has not ended for so long, and then less and less often") {
    Looks looks;
    Marks due;
    for (std::uint32_t second = 0; second < 30; ++second) {
        looks.look({{7, 4}}, 4);
        CHECK(looks.streams.stood({7, 4}) == std::max<std::uint64_t>(second * kSecond, 1));
        if (!looks.streams.has_due()) continue;
        due.push_back(second);
        CHECK(looks.ask() == Marks{7});
        CHECK_FALSE(looks.streams.has_due());
    }
    CHECK(due == Marks{3, 6, 12, 24});
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
    CHECK(looks.ask() == Marks{7});
}

TEST_CASE("With one that is due all are told that stand, since it may wait for one of them") {
    Looks looks;
    looks.look({{9, 1}}, 5);
    for (int second = 0; second < 3; ++second)
        looks.look({{7, 4}, {9, 1}}, 5);
    CHECK(looks.streams.has_due());
    CHECK(looks.ask() == Marks{7, 9});
}

TEST_CASE("What has ended stands no more, whether another is behind it or not") {
    for (const bool is_last : {true, false}) {
        Looks looks;
        for (int second = 0; second < 5; ++second)
            looks.look({{7, 4}}, 4);
        CHECK(looks.streams.stood({7, 4}) == 4 * kSecond);
        if (is_last) {
            looks.look({}, 5);
        } else {
            looks.look({{7, 5}}, 5);
        }
        CHECK(looks.streams.stood({7, 4}) == 0);
    }
}

TEST_CASE("Of a context that may have gone nothing is due, and what stands there is not forgotten") {
    Looks looks;
    for (int second = 0; second < 10; ++second) {
        looks.look({{7, 4, true}}, 4);
        CHECK_FALSE(looks.streams.has_due());
    }
    looks.look({{7, 4, false}}, 4);
    CHECK(looks.streams.has_due());
    CHECK(looks.streams.stood({7, 4}) == 10 * kSecond);
}

}  // namespace
}  // namespace aoti_dbg::test

// Stalled streams, found only from the finished launches at each check.
#include "shim/faults/stalled_streams.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"

namespace aoti_dbg::test::stalled_streams_test {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// A limit of three seconds, and a check each second.
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

TEST_CASE("A stream is due when its first launch is unfinished for too long, and then at growing intervals") {
    Looks looks;
    Marks due;
    for (std::uint32_t second = 0; second < 30; ++second) {
        looks.look({{7, 4}}, 4);
        CHECK(looks.streams.stalled_for({7, 4}) == std::max<std::uint64_t>(second * kSecond, 1));
        if (!looks.streams.has_due()) continue;
        due.push_back(second);
        CHECK(looks.ask() == Marks{7});
        CHECK_FALSE(looks.streams.has_due());
    }
    CHECK(due == Marks{3, 6, 12, 24});
}

TEST_CASE("A finished launch restarts the time, also for the launches behind it") {
    Looks looks;
    for (std::uint64_t second = 0; second < 20; ++second) {
        looks.look({{7, second / 2}}, second / 2);
        CHECK_FALSE(looks.streams.has_due());
    }
}

TEST_CASE("A stream is not stalled as long as launches finish on another, which it may wait for") {
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

TEST_CASE("With a due stream all stalled ones are reported, because it may wait for one of them") {
    Looks looks;
    looks.look({{9, 1}}, 5);
    for (int second = 0; second < 3; ++second)
        looks.look({{7, 4}, {9, 1}}, 5);
    CHECK(looks.streams.has_due());
    CHECK(looks.ask() == Marks{7, 9});
}

TEST_CASE("A stream is not stalled once its launch has finished, with or without another behind it") {
    for (const bool is_last : {true, false}) {
        Looks looks;
        for (int second = 0; second < 5; ++second)
            looks.look({{7, 4}}, 4);
        CHECK(looks.streams.stalled_for({7, 4}) == 4 * kSecond);
        if (is_last) {
            looks.look({}, 5);
        } else {
            looks.look({{7, 5}}, 5);
        }
        CHECK(looks.streams.stalled_for({7, 4}) == 0);
    }
}

TEST_CASE("A context that may be gone has no due stream, and its stalled time is kept") {
    Looks looks;
    for (int second = 0; second < 10; ++second) {
        looks.look({{7, 4, true}}, 4);
        CHECK_FALSE(looks.streams.has_due());
    }
    looks.look({{7, 4, false}}, 4);
    CHECK(looks.streams.has_due());
    CHECK(looks.streams.stalled_for({7, 4}) == 10 * kSecond);
}

}  // namespace
}  // namespace aoti_dbg::test::stalled_streams_test

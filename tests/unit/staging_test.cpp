// The memory in which tensors wait for their writers: full first, then given back in any order, then by many
// threads at once.
#include "shim/measure/staging.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"

using namespace aoti_dbg;

namespace {

constexpr std::uint64_t kBytes = std::uint64_t{1} << 20U;
constexpr std::uint32_t kLong = 60'000;

bool overlap(const Staging::Piece& one, const Staging::Piece& other) {
    return one.bytes.data() < other.bytes.data() + other.bytes.size() &&
           other.bytes.data() < one.bytes.data() + one.bytes.size();
}

}  // namespace

TEST_CASE("There is no staging of less than a page, and none of more than can be had") {
    CHECK(Staging::make(0) == nullptr);
    CHECK(Staging::make(100) == nullptr);
    CHECK(Staging::make(std::uint64_t{1} << 62U) == nullptr);
}

TEST_CASE("Pieces do not overlap, and when it is full nobody gets one without waiting") {
    const auto staging = Staging::make(kBytes);
    REQUIRE(staging != nullptr);
    std::vector<Staging::Piece> pieces;
    for (;;) {
        const Staging::Piece piece = staging->take(50'000, 0);
        if (piece.bytes.empty()) break;
        REQUIRE(pieces.size() < 100);
        CHECK(piece.bytes.size() == 50'000);
        std::memset(piece.bytes.data(), static_cast<int>(pieces.size()), piece.bytes.size());
        CHECK(std::none_of(pieces.begin(), pieces.end(),
                           [&](const Staging::Piece& other) { return overlap(piece, other); }));
        pieces.push_back(piece);
    }
    CHECK(pieces.size() >= 19);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        CHECK(pieces[i].bytes.front() == static_cast<std::byte>(i));
        CHECK(pieces[i].bytes.back() == static_cast<std::byte>(i));
    }
    // Not the oldest: the room is behind it.
    Staging::give_back(pieces[1].slot);
    CHECK(staging->take(50'000, 0).bytes.empty());
    Staging::give_back(pieces[0].slot);
    CHECK_FALSE(staging->take(50'000, 0).bytes.empty());
}

TEST_CASE("The largest piece fits, and eight of them nearly") {
    const auto staging = Staging::make(kBytes);
    REQUIRE(staging != nullptr);
    for (int i = 0; i < 7; ++i)
        CHECK_FALSE(staging->take(staging->most(), 0).bytes.empty());
}

TEST_CASE("It goes round for ever, with pieces of any size given back in any order") {
    const auto staging = Staging::make(kBytes);
    REQUIRE(staging != nullptr);
    std::vector<Staging::Piece> out;
    std::uint64_t state = 1;
    for (int i = 0; i < 20000; ++i) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        const std::uint64_t bytes = 1 + (state >> 33U) % staging->most();
        Staging::Piece piece = staging->take(bytes, 0);
        while (piece.bytes.empty()) {
            REQUIRE_FALSE(out.empty());
            const auto one = out.begin() + static_cast<std::ptrdiff_t>((state >> 20U) % out.size());
            Staging::give_back(one->slot);
            out.erase(one);
            piece = staging->take(bytes, 0);
        }
        for (const Staging::Piece& other : out) {
            if (overlap(piece, other)) FAIL("piece " << i << " overlaps another one");
        }
        out.push_back(piece);
    }
}

TEST_CASE("Who waits goes on when something is given back, and many threads share it") {
    const auto staging = Staging::make(kBytes);
    REQUIRE(staging != nullptr);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            for (int i = 0; i < 500; ++i) {
                const Staging::Piece piece = staging->take(staging->most(), kLong);
                if (piece.bytes.size() != staging->most()) {
                    ++wrong;
                    return;
                }
                std::memset(piece.bytes.data(), thread, 4096);
                std::this_thread::yield();
                if (piece.bytes[0] != static_cast<std::byte>(thread)) ++wrong;
                Staging::give_back(piece.slot);
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(wrong == 0);
}

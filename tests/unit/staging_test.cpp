// The staging memory where tensors wait for their writers: full first, then returned in any order, then used
// by many threads.
#include "shim/save/staging.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"

namespace aoti_dbg::staging_test {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{1} << 20U;
constexpr std::uint32_t kLong = 60'000;

bool overlap(const Staging::Piece& one, const Staging::Piece& other) {
    return one.bytes.data() < other.bytes.data() + other.bytes.size() &&
           other.bytes.data() < one.bytes.data() + one.bytes.size();
}

}  // namespace

TEST_CASE("A staging buffer has at least a page, and an impossible size gives none") {
    CHECK(Staging::make(0) == nullptr);
    CHECK(Staging::make(100) == nullptr);
    CHECK(Staging::make(std::uint64_t{1} << 62U) == nullptr);
}

TEST_CASE("Pieces do not overlap, and a full buffer gives none without waiting") {
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
    CHECK(pieces.size() >= 20);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        CHECK(pieces[i].bytes.front() == static_cast<std::byte>(i));
        CHECK(pieces[i].bytes.back() == static_cast<std::byte>(i));
    }
    // Any returned piece is room again, and two adjacent ones are room for twice the size.
    Staging::give_back(pieces[7].slot);
    CHECK_FALSE(staging->take(50'000, 0).bytes.empty());
    Staging::give_back(pieces[3].slot);
    Staging::give_back(pieces[5].slot);
    CHECK(staging->take(100'000, 0).bytes.empty());
    Staging::give_back(pieces[4].slot);
    CHECK_FALSE(staging->take(100'000, 0).bytes.empty());
}

TEST_CASE("A large piece gets its turn, however many callers take small ones") {
    const auto staging = Staging::make(kBytes);
    REQUIRE(staging != nullptr);
    std::deque<Staging::Piece> small;
    for (;;) {
        const Staging::Piece piece = staging->take(4096, 0);
        if (piece.bytes.empty()) break;
        small.push_back(piece);
    }
    std::atomic<bool> has_large{false};
    std::thread large([&] {
        const Staging::Piece piece = staging->take(staging->most(), kLong);
        has_large = piece.bytes.size() == staging->most();
        Staging::give_back(piece.slot);
    });
    // Each returned piece is requested again at once, but a waiting request comes first.
    while (!has_large && !small.empty()) {
        Staging::give_back(small.front().slot);
        small.pop_front();
        const Staging::Piece again = staging->take(4096, 0);
        if (!again.bytes.empty()) small.push_back(again);
        std::this_thread::yield();
    }
    large.join();
    CHECK(has_large);
    for (const Staging::Piece& piece : small)
        Staging::give_back(piece.slot);
}

TEST_CASE("A retired buffer gives no pieces, and a waiting caller continues without one") {
    const auto staging = Staging::make(kBytes);
    REQUIRE(staging != nullptr);
    std::vector<Staging::Piece> all;
    for (int i = 0; i < 8; ++i)
        all.push_back(staging->take(staging->most(), 0));
    std::thread waiting([&] { CHECK(staging->take(1, kLong).bytes.empty()); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    staging->retire();
    waiting.join();
    CHECK(staging->take(1, 0).bytes.empty());
    all[0].bytes[0] = static_cast<std::byte>(1);
    CHECK(all[0].bytes[0] == static_cast<std::byte>(1));
    for (const Staging::Piece& piece : all)
        Staging::give_back(piece.slot);
    CHECK(staging->take(1, 0).bytes.empty());
    CHECK(staging->memory()[0] == static_cast<std::byte>(0));
}

TEST_CASE("Eight of the largest pieces fit") {
    const auto staging = Staging::make(kBytes);
    REQUIRE(staging != nullptr);
    for (int i = 0; i < 8; ++i)
        CHECK_FALSE(staging->take(staging->most(), 0).bytes.empty());
}

TEST_CASE("It works indefinitely, with pieces of any size returned in any order") {
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

TEST_CASE("A waiting caller continues when a piece is returned, and many threads share the buffer") {
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

}  // namespace aoti_dbg::staging_test

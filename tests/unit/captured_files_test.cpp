// Which launches and images are on disk, and which of them a removed run takes along.
#include "shim/capture/captured_files.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg::captured_files_test {

using Calls = std::vector<std::uint32_t>;
using Images = std::vector<std::uint64_t>;

TEST_CASE("A run takes its launches along, and the images that no other launch needs") {
    CapturedFiles files;
    files.add(0, 1, 0xa);
    files.add(0, 2, 0xb);
    files.add(0, 3, 0);  // its image is unknown
    files.add(1, 1, 0xa);
    CHECK(files.launches() == 4);
    CHECK(files.launches_of(0) == 3);
    const CapturedFiles::Removed first = files.remove_run(0);
    CHECK(first.calls == Calls{1, 2, 3});
    CHECK(first.images == Images{0xb});
    CHECK(files.has_image(0xa));
    CHECK_FALSE(files.has_image(0xb));
    CHECK_FALSE(files.has_launch(0, 1));
    CHECK(files.has_launch(1, 1));
    CHECK(files.remove_run(1).images == Images{0xa});
    CHECK(files.launches() == 0);
}

TEST_CASE("A run without launches takes nothing along") {
    CapturedFiles files;
    files.add(3, 1, 0xa);
    const CapturedFiles::Removed none = files.remove_run(2);
    CHECK(none.calls.empty());
    CHECK(none.images.empty());
    CHECK(files.launches() == 1);
}

TEST_CASE("The last launch of a call replaces the one before and its image") {
    CapturedFiles files;
    CHECK(files.add(0, 1, 0xa).empty());
    CHECK(files.add(0, 1, 0xa).empty());
    CHECK(files.has_image(0xa));
    CHECK(files.add(0, 1, 0xb) == Images{0xa});
    CHECK(files.launches() == 1);
    CHECK(files.remove_run(0).images == Images{0xb});
}

TEST_CASE("Memory does not grow with the number of removed runs") {
    CapturedFiles files;
    for (std::uint32_t run = 0; run < 100'000; ++run) {
        for (std::uint32_t call = 0; call < 3; ++call)
            files.add(run, call, 1 + (run + call) % 7);
        if (run >= 2) files.remove_run(run - 2);
        REQUIRE(files.launches() <= 6);
        REQUIRE(files.tracked() <= 2 + 7);
    }
}

}  // namespace aoti_dbg::captured_files_test

// The table of known contents; forgotten ones first.
#include "shim/save/saved_contents.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg::saved_contents_test {
namespace {

ContentKey key(std::uint64_t number) {
    return {{number, ~number}, 64, 5};
}

SavedFile file(const std::string& path) {
    SavedFile made;
    made.path = path;
    return made;
}

}  // namespace

TEST_CASE("When there are too many contents, unused ones are dropped and recurring weights stay") {
    SavedContents contents(4);
    contents.put(key(0), file("weight"));
    for (std::uint64_t number = 1; number < 1000; ++number) {
        contents.put(key(number), file("activation"));
        const SavedFile* const weight = contents.find(key(0));
        REQUIRE(weight != nullptr);
        CHECK(weight->path == "weight");
        CHECK(contents.size() <= 4);
    }
    CHECK(contents.find(key(1)) == nullptr);
}

TEST_CASE("Forgotten and recurring contents do not grow the table") {
    SavedContents contents(4);
    for (int i = 0; i < 10000; ++i) {
        contents.put(key(7), file("a"));
        contents.forget(key(7));
    }
    CHECK(contents.size() == 0);
    contents.put(key(7), file("a"));
    CHECK(contents.find(key(7)) != nullptr);
}

TEST_CASE("The same bytes in another layout, or of another length, are another content") {
    SavedContents contents;
    contents.put(key(1), file("a"));
    ContentKey other = key(1);
    other.description = 6;
    CHECK(contents.find(other) == nullptr);
    other = key(1);
    other.storage_bytes = 65;
    CHECK(contents.find(other) == nullptr);
    other = key(1);
    other.bytes.high ^= 1U;
    CHECK(contents.find(other) == nullptr);
    contents.put(key(1), file("b"));
    CHECK(contents.find(key(1))->path == "b");
    CHECK(contents.size() == 1);
}

}  // namespace aoti_dbg::saved_contents_test

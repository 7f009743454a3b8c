// The index beside the saved tensors, and the removal of lines of removed runs from it. Protection of other
// files comes first.
#include "shim/save/tensor_index.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "serializer/tensor_index_jsonl.hpp"
#include "shim/record/written_bytes.hpp"
#include "tests/unit/saver_fixture.hpp"

namespace aoti_dbg::test::tensor_index_test {

namespace fs = std::filesystem;

namespace {

/// A folder with an index that is compacted once half of it belongs to removed runs.
struct Place {
    TempFolder out;
    Result<TensorFolder> folder = TensorFolder::make(system_file_calls(), {out.path().string(), "", false});
    TensorIndex index{folder.value(), 1};
    std::uint64_t line_bytes = 0;

    Place() {
        std::string header;
        append_index_header({}, "", header);
        REQUIRE_FALSE(index.create(header));
    }
    [[nodiscard]] fs::path tensors() const { return folder.value().home(); }
    [[nodiscard]] fs::path path() const { return index.path(); }
    [[nodiscard]] fs::path fresh() const { return tensors() / TensorIndex::kNewName; }

    bool add(std::uint32_t run, const std::string& name, const std::string& linked_to = "") {
        IndexedTensor tensor;
        const std::string file = "run" + std::to_string(run) + "/" + name;
        tensor.path = file;
        tensor.run = run;
        tensor.linked_to = linked_to;
        tensor.label = R"(,"run":7,)";  // as in a line, without the quotes
        std::string line;
        append_index_file(tensor, line);
        line_bytes = line.size();
        return !index.append(line);
    }
    bool remove(std::uint32_t run, std::uint64_t files) {
        std::string line;
        append_index_evicted(run, "no finding", files, line);
        return !index.append_evicted(line, run, files, files * line_bytes);
    }
    [[nodiscard]] std::set<std::string> names() const { return names_of(read_index(path())); }
    [[nodiscard]] std::string text() const { return read_text(path()); }
};

}  // namespace

TEST_CASE("Lines of removed runs are removed, and all others stay unchanged") {
    Place place;
    place.folder.value().keep_open(GENERATE(false, true));
    REQUIRE((place.add(0, "a") && place.add(1, "b") && place.add(0, "c") && place.add(~0U, "outside")));
    REQUIRE((place.add(0, "f") && place.add(0, "g") && place.remove(0, 4) && place.add(2, "d")));
    const std::uint64_t counted = written_bytes() - place.index.bytes();
    place.index.compact_if_due();
    const std::string text = place.text();
    CHECK(text.find("{\"event\":\"header\"") == 0);
    CHECK(text.find("\n{\"event\":\"compacted\",\"runs\":1,\"files\":4}\n") != std::string::npos);
    CHECK(text.find("evicted") == std::string::npos);
    CHECK(text.find("\"run\":0,") == std::string::npos);
    CHECK(place.names() == std::set<std::string>{"run1/b", "run2/d", "run4294967295/outside"});
    CHECK(place.index.bytes() == text.size());
    CHECK(written_bytes() - place.index.bytes() == counted);
    struct stat found {};
    REQUIRE(lstat(place.path().c_str(), &found) == 0);
    CHECK((found.st_mode & 07777U) == 0600U);
    CHECK_FALSE(fs::exists(place.fresh()));
    // It continues, with the numbers of all removed runs.
    REQUIRE((place.add(2, "h") && place.add(2, "i") && place.add(3, "e")));
    REQUIRE((place.remove(1, 1) && place.remove(2, 3)));
    place.index.compact_if_due();
    CHECK(place.names() == std::set<std::string>{"run3/e", "run4294967295/outside"});
    CHECK(place.text().find("{\"event\":\"compacted\",\"runs\":3,\"files\":8}\n") != std::string::npos);
}

TEST_CASE("If a file's first name is removed, its other names link to the first remaining one") {
    Place place;
    REQUIRE((place.add(0, "a\"") && place.add(0, "b", "run0/a\"") && place.add(1, "c", "run0/b")));
    REQUIRE((place.add(1, "d", "run0/a\"") && place.add(1, "e", "run1/c") && place.add(0, "f", "run1/e")));
    REQUIRE((place.add(2, "g", "run0/f") && place.add(0, "x") && place.add(0, "y") && place.remove(0, 5)));
    place.index.compact_if_due();
    const ReadIndex index = read_index(place.path());
    REQUIRE(names_of(index) == std::set<std::string>{"run1/c", "run1/d", "run1/e", "run2/g"});
    const auto linked_to = [&](const std::string& path) {
        JsonLine line;
        REQUIRE(line.parse(index.files.at(path)));
        return std::string(line.root().member("linked_to").text());
    };
    CHECK(linked_to("run1/c").empty());
    CHECK(linked_to("run1/d") == "run1/c");
    CHECK(linked_to("run1/e") == "run1/c");
    CHECK(linked_to("run2/g") == "run1/e");
}

TEST_CASE("Lines that come after the removal of their run stay") {
    Place place;
    REQUIRE((place.add(0, "a") && place.add(0, "b") && place.remove(0, 2) && place.add(0, "late")));
    place.index.compact_if_due();
    CHECK(place.text().find("compacted") != std::string::npos);
    CHECK(place.names() == std::set<std::string>{"run0/late"});
}

TEST_CASE("A file with the new index's name is not followed, replaced or removed, and the index stays") {
    Place place;
    const TempFolder elsewhere;
    const bool is_link = GENERATE(false, true);
    if (is_link) {
        fs::create_symlink(elsewhere.path() / "victim", place.fresh());
    } else {
        write_text(place.fresh(), "somebody's");
    }
    REQUIRE((place.add(0, "a") && place.add(0, "a2") && place.add(1, "b") && place.remove(0, 2)));
    place.index.compact_if_due();
    CHECK(fs::is_empty(elsewhere.path()));
    CHECK(fs::is_symlink(place.fresh()) == is_link);
    if (!is_link) CHECK(read_text(place.fresh()) == "somebody's");
    CHECK(place.names() == std::set<std::string>{"run1/b"});
    CHECK(place.add(2, "c"));
    CHECK(place.names() == std::set<std::string>{"run1/b", "run2/c"});
}

TEST_CASE("An index that another process has replaced or written to is not replaced by ours") {
    Place place;
    REQUIRE((place.add(0, "a") && place.add(0, "a2") && place.add(1, "b") && place.remove(0, 2)));
    const std::string before = place.text();
    SECTION("by another file") {
        fs::rename(place.path(), place.tensors() / "moved");
        write_text(place.path(), before);
    }
    SECTION("by a link") {
        fs::rename(place.path(), place.tensors() / "moved");
        fs::create_symlink(place.tensors() / "moved", place.path());
    }
    SECTION("with a foreign line") {
        write_text(place.path(), before + "mine\n");
    }
    const std::string theirs = place.text();
    place.index.compact_if_due();
    CHECK(place.text() == theirs);
    CHECK_FALSE(fs::exists(place.fresh()));
}

TEST_CASE("A reader finds a whole index at every moment, while it is compacted repeatedly") {
    Place place;
    place.folder.value().keep_open(true);
    REQUIRE(place.add(1'000'000, "stays"));
    std::atomic<bool> is_over{false};
    std::size_t broken = 0;
    std::size_t read = 0;
    std::thread reader([&] {
        while (!is_over) {
            const ReadIndex index = read_index(place.path());
            broken += index.broken + (index.files.count("run1000000/stays") == 1 ? 0 : 1);
            ++read;
        }
    });
    std::uint64_t most = 0;
    for (std::uint32_t run = 0; run < 3000; ++run) {
        if (!place.add(run, "a") || !place.remove(run, 1)) FAIL("it cannot be written to");
        place.index.compact_if_due();
        most = std::max(most, place.index.bytes());
    }
    is_over = true;
    reader.join();
    CHECK(broken == 0);
    CHECK(read > 1);
    CHECK(most < 10 * place.line_bytes);
}

}  // namespace aoti_dbg::test::tensor_index_test

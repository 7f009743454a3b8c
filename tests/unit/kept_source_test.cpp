// What the command reads of the packages that were kept: of files in which anything may stand.
#include "cli/kept_source.hpp"

#include <filesystem>
#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;
using Versions = std::vector<std::string>;

void describe(const fs::path& out, const std::string& package, const std::string& text) {
    const fs::path folder = out / "evidence" / package;
    fs::create_directories(folder);
    std::ofstream(folder / "library.json", std::ios::binary) << text;
}

TEST_CASE("Without a folder, and in what is no description, no version is known") {
    const test::TempFolder folder;
    CHECK(kept_torch_versions(folder.path().string()).empty());
    int number = 0;
    for (const char* text : {"", "{", "[]", "\"torch\"", "{}", "{\"torch\":2.11}", "{\"torch\":null}",
                             "{\"torch\":\"\"}", "{\"torch\":[\"2.11.0\"]}", "{\"torch\":\"2.11.0\\n\"}",
                             "{\"torch\":\"<b>\"}", "{\"torch\":\"2.11.0.0.0.0.0.0.0\"}", "\xff\xfe"})
        describe(folder.path(), "c" + std::to_string(number++), text);
    fs::create_directories(folder.path() / "evidence" / "empty");
    fs::create_directories(folder.path() / "evidence" / "odd" / "library.json");
    CHECK(kept_torch_versions(folder.path().string()).empty());
}

TEST_CASE("Each version is told once, whatever else is there") {
    const test::TempFolder folder;
    describe(folder.path(), "a", R"({"library":"a.so","torch":"2.9.1","torch_library":"/x"})");
    describe(folder.path(), "b", R"({"torch":"2.11.0"})");
    describe(folder.path(), "c", R"({"torch":"2.9.1"})");
    describe(folder.path(), "d", R"({"library":"d.so"})");
    CHECK(kept_torch_versions(folder.path().string()) == Versions{"2.11.0", "2.9.1"});
}

}  // namespace
}  // namespace aoti_dbg::cli

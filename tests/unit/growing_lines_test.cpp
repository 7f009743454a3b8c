#include "cli/growing_lines.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>

#include "tests/support/catch.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::cli::growing_lines_test {
namespace {

// One poll reads a part of such a file only.
TEST_CASE("a large file that has ended is read to its end, with an unfinished last line") {
    const aoti_dbg::test::TempFolder folder;
    const std::string path = folder.path() / "events.jsonl";
    const std::string line(1023, 'x');
    constexpr std::size_t kLines = 40'000;
    {
        std::ofstream file(path);
        for (std::size_t i = 0; i < kLines; ++i)
            file << line << '\n';
        file << "unfinished";
    }
    GrowingLines lines(path);
    std::string buffer(std::size_t{1} << 20U, '\0');
    std::string last;
    std::size_t count = 0;
    for (lines.poll(true); lines.has_lines(); lines.poll(true)) {
        while (const std::size_t got = lines.read(buffer.data(), buffer.size())) {
            const std::string_view text(buffer.data(), got);
            count += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
            last = text.substr(got - std::min<std::size_t>(got, 11));
        }
    }
    CHECK(count == kLines + 1);
    CHECK(last == "unfinished\n");
}

}  // namespace
}  // namespace aoti_dbg::cli::growing_lines_test

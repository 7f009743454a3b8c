#include "cli/show/followed_events.hpp"

#include <algorithm>
#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::cli {
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
    std::size_t polls = 0;
    do {
        lines.poll(true);
        while (const std::size_t got = lines.read(buffer.data(), buffer.size())) {
            count += static_cast<std::size_t>(
                std::count(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(got), '\n'));
            last = buffer.substr(got - std::min<std::size_t>(got, 11), 11);
        }
    } while (!lines.is_at_end() && ++polls < 10);
    CHECK(count == kLines + 1);
    CHECK(last == "unfinished\n");
}

}  // namespace
}  // namespace aoti_dbg::cli

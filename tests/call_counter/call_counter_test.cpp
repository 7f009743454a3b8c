// Whole programs over the fakes, with the library whose only feature is the call counter.
#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test {
namespace {

/// The lines that the library prints.
Lines counts(const Lines& argv) {
    const TempFolder folder;
    const Variables env = {{"LD_PRELOAD", preload_value(places::kCallCounter)},
                           {"AOTI_DBG_LEVEL", "3"},
                           {"AOTI_DBG_OUT", (folder.path() / "out").string()}};
    const Outcome outcome = run_program(argv, env);
    CAPTURE(outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.out == run_bare(argv).out);
    Lines found;
    for (const std::string& line : lines_of(outcome.err)) {
        const std::size_t begin = line.find(" info: ");
        if (begin != std::string::npos) found.push_back(line.substr(begin + 7));
    }
    return found;
}

bool has(const Lines& lines, const std::string& line) {
    return std::find(lines.begin(), lines.end(), line) != lines.end();
}

TEST_CASE("The call counter counts each kernel of a CPU model") {
    const Lines found = counts(model_host({"--runs", "3", model_path("cpu")}));
    CAPTURE(found);
    for (const std::string& kernel : kOneRun)
        CHECK(has(found, "calls of " + kernel + ": 3"));
}

#ifdef AOTI_DBG_HAS_FAKE_CUDA
TEST_CASE("The call counter counts each kernel of a CUDA model") {
    const Lines found = counts(cuda_models({"--runs", "2"}, {"stats"}));
    CAPTURE(found);
    for (const std::string& kernel : kCudaRun)
        CHECK(has(found, "calls of " + kernel + ": 2"));
}
#endif

}  // namespace
}  // namespace aoti_dbg::test

// The names of functions that torch.compile compiled, and of their runs.
#include "base/compiled_function.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg::compiled_function_test {
namespace {

const CompiledFunction kBackward = {"backward", "7_backward", "2/1", "Net.forward", "net.py:12", "0/0: size"};

TEST_CASE("A title distinguishes graphs and directions") {
    CHECK(title_of(kBackward) == "torch.compile 2/1 backward of Net.forward");
    CompiledFunction forward = kBackward;
    forward.direction = "forward";
    CHECK(title_of(forward) == "torch.compile 2/1 forward of Net.forward");
}

TEST_CASE("A title has what is known") {
    CHECK(title_of({}) == "torch.compile");
    CHECK(title_of({"backward", "7_backward", "", "", "", ""}) == "torch.compile 7_backward");
    CHECK(title_of({"", "", "2/1", "", "", ""}) == "torch.compile 2/1");
}

TEST_CASE("A description says where the function is and why it was compiled again") {
    CHECK(description_of(kBackward) ==
          "torch.compile 2/1 backward of Net.forward (net.py:12), recompiled because of 0/0: size");
    CHECK(description_of({}) == "torch.compile");
}

TEST_CASE("The name of a run has its title and its caller") {
    const std::string caller = "File \"train.py\", line 8, in step";
    const std::string called = name_of_run(title_of(kBackward), caller);
    CHECK(compiled_run_of(called).title == title_of(kBackward));
    CHECK(compiled_run_of(called).caller == caller);
    const std::string uncalled = name_of_run(title_of(kBackward), {});
    CHECK(compiled_run_of(uncalled).title == title_of(kBackward));
    CHECK(compiled_run_of(uncalled).caller.empty());
}

TEST_CASE("A run of a package is not one of a compiled function") {
    CHECK(compiled_run_of("run of model.wrapper.so").title.empty());
    CHECK(compiled_run_of("").title.empty());
}

}  // namespace
}  // namespace aoti_dbg::compiled_function_test

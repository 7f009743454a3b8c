// What the door of torch.compile says about a wrapper, as call sites.
#include "model/compiled_wrapper.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace aoti_dbg {
namespace {

const std::string kSound =
    R"({"path": "/tmp/x/cabc.py", "is_on_cuda": true, "inputs": ["arg0_1", "s77"], "outputs": ["buf1"], "sites": [
        {"name": "extern_kernels.addmm", "symbol": "addmm", "kind": "op", "line": 180, "nodes": ["linear"],
         "aten": ["aten.addmm"], "arguments": [
            {"label": "arg0_1", "role": "reads", "parameter": "", "is_tensor": true, "is_view": true},
            {"label": "alpha", "role": "reads", "parameter": "alpha", "is_tensor": false, "is_view": false},
            {"label": "buf0", "role": "writes", "parameter": "out", "is_tensor": true, "is_view": false}]},
        {"name": "triton_poi_fused_0", "symbol": "", "kind": "triton", "line": 185, "nodes": [], "aten": [],
         "arguments": [{"label": "buf1", "role": "makes", "parameter": "", "is_tensor": true, "is_view": false}]}],
        "expected": [
        {"label": "arg0_1", "dtype": "", "alignment": 0, "line": 170, "op": ""},
        {"label": "buf1", "dtype": "float32", "alignment": 16, "line": 186, "op": "torch.ops.x.y", "site": 1}]})";

TEST_CASE("A description of a wrapper becomes its call sites, in order") {
    const std::optional<CompiledWrapper> wrapper = read_compiled_wrapper(kSound);
    REQUIRE(wrapper);
    CHECK(wrapper->path == "/tmp/x/cabc.py");
    CHECK(wrapper->is_on_cuda);
    CHECK(wrapper->info.inputs == std::vector<std::string>{"arg0_1", "s77"});
    const RunBody& run = wrapper->info.run;
    REQUIRE(run.sites.size() == 2);
    CHECK(run.flow.size() == 2);
    CHECK(run.outputs.front().name == "buf1");
    const CallSite& addmm = run.sites[0];
    CHECK(addmm.name == "extern_kernels.addmm");
    CHECK(addmm.function == "addmm");
    CHECK(addmm.line == 180);
    CHECK(addmm.source_nodes == std::vector<std::string>{"linear"});
    REQUIRE(addmm.arguments.size() == 3);
    CHECK(addmm.arguments[0].label() == "arg0_1");
    CHECK(addmm.arguments[0].tensors.front().view);
    CHECK(addmm.arguments[1].kind == ArgumentKind::scalar);
    CHECK(addmm.arguments[2].role == Role::writes);
    CHECK(run.sites[1].kind == SiteKind::triton);
    CHECK(run.sites[1].function == "triton_poi_fused_0");
    CHECK(run.sites[1].arguments[0].role == Role::makes);
}

TEST_CASE("A description says what the wrapper asserts of its tensors") {
    const std::optional<CompiledWrapper> wrapper = read_compiled_wrapper(kSound);
    REQUIRE(wrapper);
    REQUIRE(wrapper->info.expected.size() == 2);
    CHECK(wrapper->info.expected[0].name == "arg0_1");
    CHECK(wrapper->info.expected[0].site == kNone);
    const ExpectedTensor& result = wrapper->info.expected[1];
    CHECK(result.dtype == "float32");
    CHECK(result.alignment == 16);
    CHECK(result.line == 186);
    CHECK(result.site == 1);
    CHECK(result.op == "torch.ops.x.y");
}

TEST_CASE("A text that is cut, or lacks something, is no description") {
    for (std::size_t length = 0; length < kSound.size(); length += 7)
        CHECK_FALSE(read_compiled_wrapper(kSound.substr(0, length)));
    for (const char* const text : {"", "[]", "{}", "7", "{\"path\": 3}", "\xff\xfe"})
        CHECK_FALSE(read_compiled_wrapper(text));
}

TEST_CASE("An unknown role may write anything") {
    std::string text = kSound;
    text.replace(text.find("\"writes\""), 8, "\"scares\"");
    const std::optional<CompiledWrapper> wrapper = read_compiled_wrapper(text);
    REQUIRE(wrapper);
    CHECK(wrapper->info.run.sites[0].arguments[2].role == Role::unknown);
}

}  // namespace
}  // namespace aoti_dbg

// What the door of torch.compile says about a wrapper, as call sites.
#include "model/compiled_wrapper.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace aoti_dbg {
namespace {

const std::string kSound =
    R"({"path": "/tmp/x/cabc.py", "is_on_cuda": true, "inputs": ["arg0_1", "s77"], "outputs": ["buf1"],
        "origin": {"graph": "0_forward", "direction": "forward", "compile": "1/0", "function": "Net.forward",
                   "place": "net.py:3", "recompiled": ""}, "sites": [
        {"name": "extern_kernels.addmm", "symbol": "addmm", "kind": "op", "line": 180, "nodes": ["linear"],
         "aten": ["aten.addmm"], "arguments": [
            {"label": "arg0_1", "role": "reads", "parameter": "", "is_tensor": true, "is_view": true},
            {"label": "alpha", "role": "reads", "parameter": "alpha", "is_tensor": false, "is_view": false},
            {"label": "buf0", "role": "writes", "parameter": "out", "is_tensor": true, "is_view": false}]},
        {"name": "triton_poi_fused_0", "symbol": "", "kind": "triton", "line": 185, "nodes": [], "aten": [],
         "arguments": [{"label": "buf1", "role": "makes", "parameter": "", "is_tensor": true, "is_view": false}]}]})";

TEST_CASE("A description of a wrapper becomes its call sites, in order") {
    const std::optional<CompiledWrapper> wrapper = read_compiled_wrapper(kSound);
    REQUIRE(wrapper);
    CHECK(wrapper->path == "/tmp/x/cabc.py");
    CHECK(wrapper->is_on_cuda);
    CHECK(title_of(wrapper->function) == "torch.compile 1/0 forward of Net.forward");
    CHECK(wrapper->function.graph == "0_forward");
    CHECK(wrapper->function.place == "net.py:3");
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

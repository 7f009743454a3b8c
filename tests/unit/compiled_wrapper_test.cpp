// What the door of torch.compile says about a wrapper, as call sites.
#include "model/compiled_wrapper.hpp"

#include <cstdint>
#include <string>

#include "model/launched_tensors.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::compiled_wrapper_test {
namespace {

const std::string kSound =
    R"({"path": "/tmp/x/cabc.py", "is_on_cuda": true, "inputs": ["arg0_1", "s77"], "outputs": ["buf2"],
        "origin": {"graph": "0_forward", "direction": "forward", "compile": "1/0", "function": "Net.forward",
                   "place": "net.py:3", "recompiled": ""}, "sites": [
        {"name": "extern_kernels.addmm", "symbol": "addmm", "kind": "op", "line": 180, "nodes": ["linear"],
         "handle": "extern_kernels.addmm:1",
         "aten": ["aten.addmm"], "arguments": [
            {"label": "arg0_1", "role": "reads", "parameter": "", "is_tensor": true,
             "view": ["{4, 2}", "{2, 1}", "8"], "value": ""},
            {"label": "alpha", "role": "reads", "parameter": "alpha", "is_tensor": false, "view": [], "value": "1"},
            {"label": "buf0", "role": "writes", "parameter": "out", "is_tensor": true, "view": [], "value": ""}]},
        {"name": "triton_poi_fused_0", "symbol": "", "kind": "triton", "line": 185, "nodes": [], "aten": [],
         "may_repeat": true,
         "arguments": [
            {"label": "buf1", "role": "updates", "parameter": "in_out_ptr0", "is_tensor": true, "view": [], "value": ""},
            {"label": "xnumel", "role": "unknown", "parameter": "xnumel", "is_tensor": false, "view": [],
             "value": "8"}]}],
     "kernels": [{"name": "triton_poi_fused_0",
                  "parameters": [["in_out_ptr0", "*fp32"], ["xnumel", "i32"], ["XBLOCK", "constexpr"]]}],
     "allocations": [{"name": "buf0", "sizes": "{4, 2}", "strides": "{2, 1}", "dtype": "float32", "before": 0}],
     "stacks": {"extern_kernels.addmm:1": ["one", "two"]},
     "shared": [{"name": "buf1", "of": "buf0", "is_view": false, "from": 1},
                {"name": "buf2", "of": "buf1", "is_view": true, "from": 2}],
     "expected": [
        {"label": "arg0_1", "dtype": "", "alignment": 0, "line": 170, "op": ""},
        {"label": "buf1", "dtype": "float32", "alignment": 16, "line": 186, "op": "torch.ops.x.y", "site": 1}]})";

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
    CHECK(run.outputs.front().name == "buf2");
    const CallSite& addmm = run.sites[0];
    CHECK(addmm.name == "extern_kernels.addmm");
    CHECK(addmm.function == "addmm");
    CHECK(addmm.line == 180);
    CHECK(addmm.source_nodes == std::vector<std::string>{"linear"});
    CHECK(addmm.provenance == "extern_kernels.addmm:1");
    CHECK(wrapper->info.origins.at(addmm.provenance).stack_traces == std::vector<std::string>{"one", "two"});
    CHECK(run.sites[1].provenance.empty());
    CHECK_FALSE(addmm.may_repeat);
    CHECK(run.sites[1].may_repeat);
    REQUIRE(addmm.arguments.size() == 3);
    CHECK(addmm.arguments[0].label() == "arg0_1");
    REQUIRE(addmm.arguments[0].tensors.front().view);
    CHECK(*addmm.arguments[0].tensors.front().view == WrittenView{"{4, 2}", "{2, 1}", "8", ""});
    CHECK(addmm.arguments[1].kind == ArgumentKind::scalar);
    CHECK(addmm.arguments[1].value == "1");
    CHECK(addmm.arguments[2].role == Role::writes);
    CHECK(run.sites[1].kind == SiteKind::triton);
    CHECK(run.sites[1].function == "triton_poi_fused_0");
    CHECK(run.sites[1].arguments[0].role == Role::updates);
}

TEST_CASE("The memory behind names is known, and what a launch passes") {
    const std::optional<CompiledWrapper> wrapper = read_compiled_wrapper(kSound);
    REQUIRE(wrapper);
    const RunBody& run = wrapper->info.run;
    REQUIRE(run.allocations.size() == 1);
    CHECK(run.allocations[0].dtype == "float32");
    REQUIRE(run.shared_memory.size() == 2);
    CHECK(run.shared_memory[0].how == SharedMemory::How::moved);
    CHECK(run.shared_memory[1].how == SharedMemory::How::view);
    CHECK(run.sites[0].kernel == kNone);
    REQUIRE(run.sites[1].kernel == 0);

    struct Passed {
        std::uint64_t in_out_ptr0 = 0x7000;
        std::int32_t xnumel = 8;
        std::uint64_t scratch[3] = {};
    } passed;
    const auto bytes = [&passed](std::size_t scratch) {
        return std::string_view(reinterpret_cast<const char*>(&passed), 16 + 8 * scratch);
    };
    // Triton's releases add none, one or two buffers of their own.
    for (const std::size_t scratch : {0, 1, 2}) {
        const std::vector<TensorMemory> tensors = launched_tensors(wrapper->info, 1, bytes(scratch));
        REQUIRE(tensors.size() == 1);
        CHECK(tensors[0].label == "buf1");
        CHECK(tensors[0].begin == 0x7000);
        CHECK(tensors[0].bytes == 32);
    }
    CHECK(launched_tensors(wrapper->info, 1, bytes(3)).empty());
    CHECK(launched_tensors(wrapper->info, 1, bytes(0).substr(0, 8)).empty());
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
}  // namespace aoti_dbg::compiled_wrapper_test

// Where kernels come from: packages, logs of TORCH_TRACE and comments, and what must not be claimed.
#include "model/provenance.hpp"

#include <string>
#include <vector>

#include "model/python_stack.hpp"
#include "model/torch_trace.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::provenance_test {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

// Lines 4 and 6 are calls of the same op.
const std::string kWrapper =
    "// generated\n"
    "    // Topologically Sorted Source Nodes: [linear], Original ATen: [aten.addmm]\n"
    "    // [Provenance debug handles] aoti_torch_cpu_addmm_out:1\n"
    "    aoti_torch_cpu_addmm_out(buf0, \"/cache/one/x.cubin\");\n"
    "    // [Provenance debug handles] aoti_torch_cpu_addmm_out:2\n"
    "    aoti_torch_cpu_addmm_out(buf1);\n"
    "    // [Provenance debug handles] cpp_fused_gelu_0:3\n"
    "    cpp_fused_gelu_0(buf1);\n";

const std::string kInformation =
    R"j({"aoti_torch_cpu_addmm_out:1": {"stack_traces":
          ["File \"/m/net.py\", line 9, in forward\n    x = self.l1(x)\n  File \"/v/site-packages/torch/nn/modules/linear.py\", line 134, in forward\n    return F.linear(input)"],
         "post_grad_nodes": ["addmm"], "pre_grad_nodes": ["linear"]
}
, "aoti_torch_cpu_addmm_out:2" : {
    "stack_traces" : ["  File \"/m/net.py\", line 11, in forward\n    y = self.l2(x)\n"],
    "post_grad_nodes" : ["addmm_1"],
    "pre_grad_nodes" : ["linear_1"]
},
                                 "cpp_fused_gelu_0:3" : {
    "stack_traces": ["  File \"/m/net.py\", line 10, in forward\n    x = gelu(x)\n",
           "  File \"/m/net.py\", line 10, in forward\n    x = gelu(x)\n    ^^^^\n"],
         "post_grad_nodes": ["mul"], "pre_grad_nodes": ["gelu"]
}
})j";

std::string entry(const std::string& metadata, const std::string& payload) {
    std::string text = "V1127 22:07:05.003000 13058 torch/_inductor/compile_fx.py:2452] " + metadata + "\n\t";
    for (const char c : payload)
        text += c == '\n' ? std::string("\n\t") : std::string(1, c);
    return text + "\n";
}

std::string artifact(const std::string& name, const std::string& payload) {
    return entry(R"j({"artifact": {"name": ")j" + name + R"j(", "encoding": "json"}, "has_payload": "0"})j",
                 payload);
}

const std::string kStacks =
    R"j({"aoti_torch_cpu_addmm_out:1": ["  File \"/m/net.py\", line 9, in forward\n    x = self.l1(x)\n"],
        "other_kernel:7": ["  File \"/m/other.py\", line 1, in f\n    c\n"]})j";
const std::string kMappings =
    R"j({"cppCodeToPost": {"aoti_torch_cpu_addmm_out:1": ["addmm"], "cpp_fused_gelu_0:3": ["mul", "erf"]},
        "postToPre": {"addmm": ["linear"], "mul": ["gelu"], "erf": ["gelu"]}, "version": 2.0})j";
const std::string kPreGrad =
    "class GraphModule(torch.nn.Module):\n"
    "    def forward(self, x: \"f32[8, 10]\"):\n"
    "        # File: /m/net.py:9 in forward, code: x = self.l1(x)\n"
    "        linear: \"f32[8, 16]\" = torch._C._nn.linear(x)\n"
    "        # No stacktrace found for following nodes\n"
    "        unknown = f(linear)\n";
const std::string kPostGrad =
    "        # Annotation: {'a': 1} File: /m/net.py:10 in forward, code: x = gelu(x)\n"
    "        mul: \"f32[8, 16]\" = torch.ops.aten.mul.Tensor(addmm, 0.5)\n"
    "        erf: \"f32[8, 16]\" = torch.ops.aten.erf.default(mul)\n";

std::string log_of(const std::string& wrapper, bool has_provenance = true) {
    std::string log =
        artifact("before_pre_grad_graph", kPreGrad) + entry(R"j({"chromium_event": {}})j", "x") +
        artifact("inductor_post_grad_graph", kPostGrad) +
        entry(R"j({"graph_dump": {"name": "inductor_aot_wrapper_code", "type": "cpp"}})j", wrapper);
    if (has_provenance)
        log += artifact("inductor_provenance_tracking_node_mappings", kMappings) +
               artifact("inductor_provenance_tracking_kernel_stack_traces", kStacks);
    return log;
}

std::string without_handles(const std::string& wrapper) {
    std::string text;
    for (std::size_t begin = 0; begin < wrapper.size();) {
        const std::size_t end = wrapper.find('\n', begin) + 1;
        const std::string line = wrapper.substr(begin, end - begin);
        if (line.find("Provenance") == std::string::npos) text += line;
        begin = end;
    }
    return text;
}

SiteOrigin origin_of(const NamedSite& site, const std::string& wrapper, const std::string& information,
                     const std::string& log = {}) {
    TorchTrace trace;
    trace.add(log);
    return Provenance(wrapper, information, &trace).of(site);
}

const NamedSite kFirst = {"aoti_torch_cpu_addmm_out", "", 4, {"linear"}, {"aten.addmm"}, {}};
const NamedSite kGelu = {"cpp_fused_gelu_0", "", 8, {}, {}, {}};

TEST_CASE("A stack shows the innermost line outside of PyTorch") {
    const std::vector<PythonLine> stack = read_python_stack(
        "File \"/m/a \\\"b\\\", line 1.py\", line 3, in f\n    g()\n  File \"/v/dist-packages/torch/x.py\", "
        "line 4, in g\n    h()");
    REQUIRE(stack.size() == 2);
    CHECK(text_of(own_line(stack)) == "a \\\"b\\\", line 1.py:3 in f: g()");
    CHECK(text_of(own_line({stack[1]})) == "x.py:4 in g: h()");
    CHECK(read_python_stack("File \"x\", line y, in f\nnothing").empty());
    CHECK(text_of(read_file_comment("# File: /m/a:b.py:12 in forward, code: x = {1: 2}, code: 3")) ==
          "a:b.py:12 in forward: x = {1: 2}, code: 3");
    CHECK(read_file_comment("# File: /m/a.py:no in f, code: x").line == 0);
}

TEST_CASE("The package says where a kernel comes from") {
    const SiteOrigin first = origin_of(kFirst, kWrapper, kInformation);
    CHECK(first.from == SiteOrigin::From::package);
    CHECK(first.python_lines == Texts{"net.py:9 in forward: x = self.l1(x)"});
    CHECK(first.python_stack.size() == 4);
    CHECK(first.post_grad_nodes == Texts{"addmm"});
    CHECK(first.aten == Texts{"aten.addmm"});
    NamedSite second = kFirst;
    second.line = 6;
    CHECK(origin_of(second, kWrapper, kInformation).python_lines ==
          Texts{"net.py:11 in forward: y = self.l2(x)"});
    CHECK(origin_of(kGelu, kWrapper, kInformation).python_lines ==
          Texts{"net.py:10 in forward: x = gelu(x)"});
}

TEST_CASE("Without the wrapper source or a line, only a unique name says so") {
    NamedSite gelu = kGelu;
    NamedSite first = kFirst;
    gelu.line = first.line = 0;
    for (const std::string& wrapper : {std::string(), kWrapper}) {
        CHECK(origin_of(gelu, wrapper, kInformation).python_lines.size() == 1);
        CHECK(origin_of(first, wrapper, kInformation).python_lines.empty());
    }
}

TEST_CASE("Names of one op are recognized") {
    const std::string information =
        R"j({"KEY:1": {"stack_traces": ["File \"/m/net.py\", line 1, in f"], "post_grad_nodes": []}})j";
    const auto is_same = [&](const std::string& key, const std::string& kernel,
                             const std::string& symbol = {}) {
        std::string named = information;
        named.replace(named.find("KEY"), 3, key);
        return !origin_of({kernel, symbol, 0, {}, {}, {}}, "", named).python_lines.empty();
    };
    CHECK(is_same("torch.ops.mylib.my_op.default", "mylib::my_op"));
    CHECK(is_same("aoti_torch_cpu_my_op", "mylib::my_op"));
    CHECK(is_same("aoti_torch_cpu_sort_stable", "at::_ops::sort_stable::call", "aoti_torch_cpu_sort_stable"));
    CHECK_FALSE(is_same("aoti_torch_cpu_my_op", "my_op"));
    CHECK_FALSE(is_same("aoti_torch_cpu_my_op_out", "mylib::my_op"));
}

TEST_CASE("A file of another build, or a line of another kernel, claims nothing") {
    const std::string other =
        R"j({"aoti_torch_cpu_addmm_out:1": {"stack_traces": ["File \"/m/n.py\", line 1, in f"]}})j";
    CHECK(origin_of(kFirst, kWrapper, other).python_lines.empty());
    CHECK(origin_of(kFirst, without_handles(kWrapper), kInformation).python_lines.empty());
    NamedSite wrong = kGelu;
    wrong.line = 6;
    CHECK(origin_of(wrong, kWrapper, kInformation).is_empty());
    CHECK(origin_of(kFirst, kWrapper, "{\"damaged").from == SiteOrigin::From::wrapper);
}

TEST_CASE("A log says so of the wrapper that it has, also in another cache folder and without handles") {
    const std::string elsewhere = log_of("// generated" + kWrapper.substr(12, kWrapper.find("/cache") - 12) +
                                         "/tmp/other" + kWrapper.substr(kWrapper.find("/x.cubin")));
    const SiteOrigin first = origin_of(kFirst, kWrapper + "// Compile cmd\n// g++ x\n", "", elsewhere);
    CHECK(first.from == SiteOrigin::From::trace);
    CHECK(first.python_lines == Texts{"net.py:9 in forward: x = self.l1(x)"});
    CHECK(first.pre_grad_nodes == Texts{"linear"});
    const SiteOrigin gelu = origin_of(kGelu, kWrapper, "", elsewhere);
    CHECK(gelu.aten == Texts{"aten.mul", "aten.erf"});
    CHECK(gelu.pre_grad_nodes == Texts{"gelu"});
    NamedSite plain = kFirst;
    plain.line = 3;
    CHECK(origin_of(plain, without_handles(kWrapper), "", elsewhere).post_grad_nodes == Texts{"addmm"});
}

TEST_CASE("Arrays of another compilation may have other numbers, but not other values") {
    const std::string two =
        "    static constexpr int64_t int_array_2[] = {8L, 4L};\n"
        "    static constexpr int64_t int_array_3[] = {8L, 4L};\n"
        "    empty(int_array_2, int_array_3);\n";
    const std::string one =
        "    static constexpr int64_t int_array_7[] = {8L, 4L};\n    empty(int_array_7, int_array_7);\n";
    const std::string other =
        "    static constexpr int64_t int_array_7[] = {8L, 5L};\n    empty(int_array_7, int_array_7);\n";
    NamedSite first = kFirst;
    first.line += 3;
    CHECK(origin_of(first, two + kWrapper, "", log_of(one + kWrapper)).post_grad_nodes == Texts{"addmm"});
    CHECK(origin_of(first, two + kWrapper, "", log_of(other + kWrapper)).post_grad_nodes.empty());
}

TEST_CASE("Without provenance in the log, its graphs say so") {
    const SiteOrigin first = origin_of(kFirst, kWrapper, "", log_of(kWrapper, false));
    CHECK(first.python_lines == Texts{"net.py:9 in forward: x = self.l1(x)"});
    CHECK(first.post_grad_nodes.empty());
    NamedSite unknown = kFirst;
    unknown.source_nodes = {"unknown", "absent"};
    CHECK(origin_of(unknown, kWrapper, "", log_of(kWrapper, false)).python_lines.empty());
}

TEST_CASE("A log of another compilation claims nothing, and two of one wrapper claim what they agree on") {
    CHECK(origin_of(kFirst, kWrapper, "", log_of(kWrapper + "more();\n")).from == SiteOrigin::From::wrapper);
    std::string other = log_of(kWrapper);
    other.replace(other.find("line 9"), 6, "line 8");
    other.replace(other.find("net.py:9 in"), 11, "net.py:8 in");
    const SiteOrigin both = origin_of(kFirst, kWrapper, "", log_of(kWrapper) + other);
    CHECK(both.python_lines.empty());
    CHECK(both.post_grad_nodes == Texts{"addmm"});
    const SiteOrigin same = origin_of(kFirst, kWrapper, "", log_of(kWrapper) + log_of(kWrapper));
    CHECK(same.python_lines.size() == 1);
}

TEST_CASE("The C++ source inside a Python wrapper is found") {
    const std::string python = "import torch\ncpp_wrapper_src = (\nr'''" + kWrapper + "'''\n)\n";
    const std::string log =
        entry(R"j({"inductor_output_code": {"filename": "/c/x.py"}, "frame_id": 0})j", python) +
        entry(R"j({"artifact": {"name": "inductor_provenance_tracking_node_mappings"}, "frame_id": 0})j",
              kMappings);
    CHECK(origin_of(kFirst, kWrapper, "", log).post_grad_nodes == Texts{"addmm"});
    const std::string foreign =
        entry(R"j({"artifact": {"name": "inductor_provenance_tracking_node_mappings"}, "frame_id": 1})j",
              kMappings);
    CHECK(origin_of(kFirst, kWrapper, "", log.substr(0, log.find("V1127", 9)) + foreign)
              .post_grad_nodes.empty());
}

TEST_CASE("Logs are read from a folder, and a folder without one is refused") {
    const test::TempFolder folder;
    CHECK_FALSE(TorchTrace::read(folder.path().string()).ok());
    test::write_text(folder.path() / "dedicated_log_torch_trace_rank_0_x.log", log_of(kWrapper));
    test::write_text(folder.path() / "dedicated_log_torch_trace_rank_1_x.log", log_of(kWrapper + "x();\n"));
    test::write_text(folder.path() / "other.log", log_of(kWrapper));
    const Result<TorchTrace> trace = TorchTrace::read(folder.path().string());
    REQUIRE(trace.ok());
    CHECK(trace.value().compilations().size() == 2);
}

TEST_CASE("Any bytes are accepted") {
    Random random(11);
    const std::string whole = log_of(kWrapper) + kInformation;
    for (int round = 0; round < 1500; ++round) {
        std::string text = whole;
        for (std::uint64_t changes = random.below(6); changes > 0; --changes)
            text[random.below(text.size())] = static_cast<char>(random.below(256));
        text.resize(random.below(text.size() + 1));
        const SiteOrigin origin = origin_of(kFirst, kWrapper, text, text);
        CHECK(origin.aten == kFirst.aten);
        (void)read_python_stack(text);
        (void)read_traced_graph(text);
        (void)print_of(text);
    }
}

}  // namespace
}  // namespace aoti_dbg::provenance_test

// What `aoti-dbg inspect` says about a model, by its files. The sources come from PyTorch, the rest is
// written here.
#include "cli/inspect/inspect.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/inspect/call_spec.hpp"
#include "cli/inspect/model_kernels.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/model_writer.hpp"
#include "tests/support/places.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::cli::inspect_test {
namespace {

using test::NamedTexts;

const std::string kFolder = "m/data/aotinductor/model/";

std::string source_of(const std::string& name) {
    return test::contents_of(std::string(places::kTestData) + "/call_sites/" + name + ".cpp.txt");
}

std::vector<PackagedFile> packaged(const NamedTexts& files) {
    std::vector<PackagedFile> result;
    for (const auto& [name, text] : files)
        result.push_back({name, std::as_bytes(std::span(text.data(), text.size()))});
    return result;
}

/// Returns the only model of these files.
InspectedModel model_of(const NamedTexts& files) {
    const std::vector<PackagedFile> all = packaged(files);
    const std::vector<ModelFiles> models = find_models(all);
    REQUIRE(models.size() == 1);
    return inspect_model(models.front());
}

std::string state_of(const InspectedModel& model, const std::string& what) {
    for (const Visible& one : model.visible)
        if (one.what == what)
            return one.state == Visible::State::yes  ? "yes"
                   : one.state == Visible::State::no ? "no"
                                                     : "partly";
    return "unsaid";
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST_CASE("A model's inputs have their dtype, symbols and ranges") {
    const InspectedModel model =
        model_of({{kFolder + "c1.wrapper.cpp",
                   source_of("dynamic_batch.released") + source_of("dynamic_batch.checks")}});
    REQUIRE(model.inputs.size() == 1);
    const ModelTensor& input = model.inputs[0];
    CHECK(input.name == "arg2_1");
    CHECK(input.dtype == "float32");
    CHECK(input.device == "cpu");
    REQUIRE(input.sizes.size() == 2);
    CHECK(input.sizes[0].text == "s77");
    CHECK(input.sizes[0].most == 512);
    CHECK(input.sizes[1].text == "12");
    CHECK(input.strides == std::vector<std::string>{"12", "1"});
    CHECK(state_of(model, "input checks") == "yes");
    CHECK(model.checks.size() == 1);
}

TEST_CASE("Outputs have the sizes of their memory and the call that writes it") {
    const InspectedModel model =
        model_of({{kFolder + "c1.wrapper.cpp", source_of("dynamic_batch.released")}});
    REQUIRE(model.outputs.size() == 2);
    CHECK(model.outputs[0].tensor.dtype == "float32");
    CHECK(model.outputs[0].tensor.sizes[0].text == "s77");
    CHECK(model.outputs[0].value == "buf4");
    CHECK(model.outputs[0].writer == "cpp_fused_add_native_layer_norm_sum_0");
    // Without the checks, nothing says what the input is.
    CHECK(model.inputs[0].dtype.empty());
    CHECK(state_of(model, "input checks") == "partly");
}

TEST_CASE("An output that is a view has its own sizes and the writer of its memory") {
    std::string source = source_of("dynamic_batch.released");
    const std::string last = "    cpp_fused_add_native_layer_norm_sum_0(";
    REQUIRE(has(source, last));
    source.insert(source.rfind(last),
                  "    static constexpr int64_t int_array_90[] = {3L, 4L};\n"
                  "    static constexpr int64_t int_array_91[] = {4L, 1L};\n"
                  "    auto buf90 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(buf5, 2, "
                  "int_array_90, int_array_91, 0L));  // alias\n");
    const std::string returned = "output_handles[1] = buf5.release();";
    REQUIRE(has(source, returned));
    source.replace(source.find(returned), returned.size(), "output_handles[1] = buf90.release();");
    const InspectedModel model = model_of({{kFolder + "c1.wrapper.cpp", source}});
    const ModelOutput& output = model.outputs[1];
    CHECK(output.tensor.dtype == "float32");
    REQUIRE(output.tensor.sizes.size() == 2);
    CHECK(output.tensor.sizes[1].text == "4");
    CHECK(output.tensor.strides == std::vector<std::string>{"4", "1"});
    CHECK(output.writer == "cpp_fused_add_native_layer_norm_sum_0");
}

TEST_CASE("An output that the run leaves empty is None") {
    std::string source = source_of("dynamic_batch.released");
    const std::string returned = "    output_handles[1] = buf5.release();\n";
    REQUIRE(has(source, returned));
    source.erase(source.find(returned), returned.size());
    const InspectedModel model = model_of({{kFolder + "c1.wrapper.cpp", source}});
    REQUIRE(model.outputs.size() == 2);
    CHECK(model.outputs[1].value == "None");
    CHECK(has(inspect_text({model}, "x", false), "output1  None\n"));
    // A cut source does not say so.
    const InspectedModel cut = model_of({{kFolder + "c1.wrapper.cpp", source.substr(0, source.rfind('}'))}});
    CHECK(cut.outputs[1].value.empty());
}

TEST_CASE("A size that the source derives a symbol from is shown by the symbol") {
    std::string source = source_of("dynamic_batch.released") + source_of("dynamic_batch.checks");
    const std::string symbol = "int64_t s77 = arg2_1_size[0];";
    REQUIRE(has(source, symbol));
    source.replace(source.find(symbol), symbol.size(),
                   "int64_t arg2_1_size_0 = arg2_1_size[0];\n    int64_t s77 = (1.0/2.0)*arg2_1_size_0;");
    const InspectedModel model = model_of({{kFolder + "c1.wrapper.cpp", source}});
    CHECK(model.inputs[0].sizes[0].text == "2*s77");
    CHECK(model.inputs[0].sizes[0].most == 512);
}

TEST_CASE("Constants have their bytes without padding") {
    const InspectedModel model =
        model_of({{kFolder + "c1.wrapper.cpp", source_of("dynamic_batch.released")}});
    REQUIRE(model.constants.size() == 2);
    CHECK(model.constants[0].fqn == "layer.weight");
    CHECK(model.constants[0].bytes == 576);
    CHECK(model.constants[1].bytes == 48);  // the table has 64
    CHECK(model.constants[1].kind == "Parameter");
}

TEST_CASE("Custom ops have their name and the number of their calls") {
    const InspectedModel model =
        model_of({{kFolder + "c1.wrapper.cpp", source_of("custom_op.released")},
                  {kFolder + "c1.wrapper.json",
                   test::contents_of(std::string(places::kTestData) + "/call_sites/custom_op.json")}});
    REQUIRE(model.kernels.size() == 3);
    CHECK(model.kernels[1].name == "mylib::my_op");
    CHECK(model.kernels[1].calls == 2);
    CHECK(is_custom_op(model.kernels[1]));
    CHECK(!is_custom_op(model.kernels[0]));
}

TEST_CASE("Calls in a branch or loop are counted apart") {
    const InspectedModel model = model_of({{kFolder + "c1.wrapper.cpp", source_of("control_flow.released")}});
    std::uint32_t conditional = 0;
    for (const ModelKernel& kernel : model.kernels)
        conditional += kernel.conditional;
    CHECK(conditional > 0);
}

TEST_CASE("PyTorch's printer is recognized in the source and in the library") {
    CHECK(model_of({{kFolder + "c1.wrapper.cpp", source_of("dynamic_batch.printer")}}).printer == "values");
    CHECK(model_of({{kFolder + "c1.wrapper.cpp", source_of("dynamic_batch.released")}}).printer.empty());
    test::LibraryChoices choices;
    choices.data = "[ before_launch: cpp_fused_relu_0 ]\n";
    CHECK(model_of({{kFolder + "c1.wrapper.so", test::model_library(choices)}}).printer == "names");
    choices = {};
    choices.imports.emplace_back("aoti_torch_save_tensor_handle");
    CHECK(model_of({{kFolder + "c1.wrapper.so", test::model_library(choices)}}).printer == "files");
}

TEST_CASE("Without sources, kernels come from the symbols of the library") {
    const InspectedModel model = model_of({{kFolder + "c1.wrapper.so", test::model_library()}});
    REQUIRE(model.kernels.size() == 2);
    CHECK(model.kernels[0].name == "cpp_fused_relu_0");
    CHECK(model.kernels[0].calls == 0);
    CHECK(model.kernels[1].name == "aoti_torch_cpu_addmm_out");
    CHECK(model.device == "cpu");
    CHECK(!model.has_inputs);
    CHECK(state_of(model, "argument names") == "no");
    CHECK(state_of(model, "source lines") == "no");
    const std::string text = inspect_text({model}, "x.so", false);
    CHECK(has(text, "inputs      unknown: the package has no wrapper source\n"));
    CHECK(has(text, "number of calls unknown"));
    test::keep_output("inspect2.json", inspect_json({model}, "x.so"));
}

TEST_CASE("Kernels that the library calls without a slot are reported as invisible") {
    test::LibraryChoices choices;
    choices.has_slots = false;
    CHECK(state_of(model_of({{kFolder + "c1.wrapper.so", test::model_library(choices)}}), "calls") ==
          "partly");
}

TEST_CASE("The release of PyTorch follows from the functions of the library") {
    const auto release = [](std::vector<std::string> functions) {
        test::LibraryChoices choices;
        choices.defines = std::move(functions);
        const std::string bytes = test::model_library(choices);
        return release_text(read_library(std::as_bytes(std::span(bytes.data(), bytes.size()))));
    };
    CHECK(release({"AOTInductorModelContainerRun"}) == "PyTorch 2.6");
    CHECK(release({"AOTInductorModelContainerRun", "AOTInductorModelContainerExtractConstantsMap"}) ==
          "PyTorch 2.8 or 2.9");
    CHECK(release({"AOTInductorModelContainerGetConstantsBlobSize"}) == "PyTorch 2.10 to 2.12");
    CHECK(release({"AOTInductorGetLastError"}) == "PyTorch 2.13");
    CHECK(release({"other"}) == "an unknown release of PyTorch");
}

TEST_CASE("The architecture of a GPU model comes from its kernel images") {
    for (const bool is_new : {true, false}) {
        const InspectedModel model =
            model_of({{kFolder + "c1.wrapper.so", test::model_library()},
                      {kFolder + "c2.cubin", test::model_cubin("triton_poi_0", is_new)}});
        CHECK(model.architectures == std::vector<std::string>{"sm_90"});
        CHECK(model.kernels.back().name == "triton_poi_0");
        CHECK(model.kernels.back().architecture == "sm_90");
    }
    test::LibraryChoices choices;
    choices.data = "embedded" + test::model_cubin("triton_poi_0");
    CHECK(model_of({{kFolder + "c1.wrapper.so", test::model_library(choices)}}).architectures ==
          std::vector<std::string>{"sm_90"});
}

TEST_CASE("A damaged library of a package is described, with the rest of the package") {
    const InspectedModel model =
        model_of({{kFolder + "c1.wrapper.so", test::model_library().substr(0, 100)},
                  {kFolder + "c1.wrapper.cpp", source_of("dynamic_batch.released")}});
    CHECK(model.inputs.size() == 1);
    CHECK(state_of(model, "calls") == "no");
    CHECK(has(inspect_text({model}, "x", false), "the library is truncated"));
    CHECK(has(inspect_json({model}, "x"), "\"problem\": \"is truncated"));
    test::keep_output("inspect3.json", inspect_json({model}, "x"));
}

TEST_CASE("Each model of a package is described, and shared files are not guessed") {
    const NamedTexts files = {
        {"m/data/aotinductor/a/c1.wrapper.cpp", source_of("dynamic_batch.released")},
        {"m/data/aotinductor/b/c2.wrapper.cpp", source_of("linear_softmax.released")},
        {"m/data/aotinductor/b/c2.kernel.cpp", "extern \"C\" void cpp_fused_relu_0(float* p)\n{\n}\n"}};
    const std::vector<PackagedFile> all = packaged(files);
    const std::vector<ModelFiles> models = find_models(all);
    REQUIRE(models.size() == 2);
    CHECK(models[0].name == "a");
    CHECK(models[1].name == "b");
    CHECK(models[0].kernel_sources.empty());
    CHECK(models[1].kernel_sources.size() == 1);
    const std::string text =
        inspect_text({inspect_model(models[0]), inspect_model(models[1])}, "m.pt2", false);
    CHECK(has(text, "m.pt2: 2 models\n"));
}

TEST_CASE("The source of a C++ kernel is its definition, not its declaration") {
    WrapperTexts texts;
    const std::string kernel =
        "extern \"C\"  void  cpp_fused_relu_0(float* in_out_ptr0)\n{\n    { /* } */ }\n}";
    const std::string source = "#include <x>\nextern \"C\" void other() { cpp_fused_relu_0(nullptr); }\n" +
                               kernel + "\n// Compile cmd\n";
    texts.wrapper = "extern \"C\" void cpp_fused_relu_0(float* in_out_ptr0);\n";
    texts.kernel_sources.emplace_back(source);
    const KernelSource found = source_of_kernel(texts, {}, "cpp_fused_relu_0");
    CHECK(found.language == "cpp");
    CHECK(found.text == kernel + "\n");
    CHECK(source_of_kernel(texts, {}, "cpp_fused_relu_1").language.empty());
}

TEST_CASE("The source of a Triton kernel keeps its line numbers") {
    WrapperTexts texts;
    texts.wrapper =
        "/*\n    async_compile.triton('triton_poi_0', '''\n    import triton\n\n    @triton.jit\n        x\n "
        "   ''')\n*/";
    const KernelSource found = source_of_kernel(texts, {}, "triton_poi_0");
    CHECK(found.language == "triton");
    CHECK(found.text == "\nimport triton\n\n@triton.jit\n    x\n");
}

TEST_CASE("Inputs and outputs have their places in the call of the exported module") {
    const std::string leaf = R"({"type": null, "context": null, "children_spec": []})";
    const std::string pair = R"({"type": "builtins.tuple", "context": "null", "children_spec": [)" + leaf +
                             R"(, {"type": "builtins.dict", "context": "[\"k\"]", "children_spec": [)" +
                             leaf + "]}]}";
    const std::string source =
        R"x(in_spec_ = R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": [)x"
        R"x({"type": "builtins.tuple", "context": "null", "children_spec": [)x" +
        leaf + R"x(]}, {"type": "builtins.dict", "context": "[\"pair\"]", "children_spec": [)x" + pair +
        "]}]}])\";\n" + R"x(out_spec_ = "[1, {\"type\": null, \"context\": null, \"children_spec\": []}]";)x";
    CHECK(input_places(source) == std::vector<std::string>{"args[0]", "pair[0]", "pair[1][\"k\"]"});
    CHECK(output_places(source) == std::vector<std::string>{""});
    const std::string parts =
        R"x(out_spec_ =
    R"([1, {"type": null, "context": null, )"
    R"("children_spec": []}])"
    ;)x";
    CHECK(output_places(parts) == std::vector<std::string>{""});
    const std::string deep = "in_spec_ = \"" + std::string(100000, '[') + std::string(100000, ']') + "\";";
    CHECK(input_places(deep).empty());
    for (const char* const damaged : {"", "in_spec_ = ", "in_spec_ = R\"([1, [)\";", "in_spec_ = \"[1, 2]\";",
                                      "in_spec_ = R\"([1, {\"children_spec\": 5}])\";"})
        CHECK(input_places(damaged).empty());
}

TEST_CASE("The Python line of a kernel is the one in the model's own code") {
    const std::string origins = R"({"cpp_fused_add_native_layer_norm_sum_0": {"stack_traces": [
        "File \"/m/net.py\", line 7, in forward\n    y\n  File \"/x/site-packages/torch/nn/linear.py\", line 134, in forward\n"],
        "post_grad_nodes": ["add"], "pre_grad_nodes": ["sum_1"]}})";
    const InspectedModel model = model_of({{kFolder + "c1.wrapper.cpp", source_of("dynamic_batch.released")},
                                           {kFolder + "kernel_information.json", origins}});
    CHECK(model.kernels[1].pre_grad_nodes == std::vector<std::string>{"sum_1"});
    CHECK(state_of(model, "Python lines") == "partly");  // of one kernel
    CHECK(has(inspect_text({model}, "x", false), "Python net.py:7 in forward: y\n"));
}

TEST_CASE("It is said where the weights are") {
    std::string source = source_of("dynamic_batch.released");
    CHECK(model_of({{kFolder + "c1.wrapper.cpp", source}}).weights == "library");
    const std::string included = "std::move(cubin_dir),\n                           true)";
    REQUIRE(has(source, included));
    source.replace(source.find(included), included.size(), "std::move(cubin_dir), false)");
    CHECK(model_of({{kFolder + "c1.wrapper.cpp", source}}).weights == "program");
    CHECK(model_of({{kFolder + "c1.wrapper.cpp", source}, {kFolder + "weights_config.json", "{}"}}).weights ==
          "package");
}

TEST_CASE("Long lists are cut in the text unless --all is given, and never in the JSON") {
    InspectedModel model;
    model.has_inputs = model.has_wrapper = true;
    for (int i = 0; i < 30; ++i)
        model.inputs.push_back({"arg" + std::to_string(i), "float32", "cpu", {}, true, {{"4", 4, 4}}, {}});
    CHECK(has(inspect_text({model}, "x", false), "... 10 more (--all prints them)\n"));
    CHECK(!has(inspect_text({model}, "x", true), "more (--all"));
    const auto document = nlohmann::json::parse(inspect_json({model}, "x"));
    CHECK(document["models"][0]["inputs"].size() == 30);
    test::keep_output("inspect1.json", document.dump());
}

TEST_CASE("Names with control characters are printed safely") {
    InspectedModel model;
    model.has_inputs = true;
    model.constants.push_back({{"w", "float32", {}, {}, true, {}, {}}, "a\033[2Jb\xff", "Parameter", 4});
    const std::string text = inspect_text({model}, "x\n", false);
    CHECK(!has(text, "\033"));
    CHECK(nlohmann::json::parse(inspect_json({model}, "x\xff")).is_object());
}

/// Returns the error for a file with these bytes, or an empty text.
std::string error_of(const test::TempFolder& folder, const std::string& name, const std::string& bytes) {
    const std::string path = (folder.path() / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    const Result<OpenedPackage> opened = OpenedPackage::open(path);
    return opened.ok() ? std::string() : opened.status().message();
}

TEST_CASE("Files that are no model, or a damaged one, are refused with the reason") {
    const test::TempFolder folder;
    const std::string package =
        test::archive_of({{kFolder + "c1.wrapper.cpp", source_of("dynamic_batch.released")}});
    CHECK(error_of(folder, "a.pt2", package).empty());
    CHECK(has(error_of(folder, "cut.pt2", package.substr(0, package.size() / 2)), "a damaged zip archive"));
    std::string changed = package;
    changed[changed.size() / 3] ^= 1;
    CHECK(has(error_of(folder, "changed.pt2", changed), "the checksum of " + kFolder));
    CHECK(has(error_of(folder, "empty.pt2", ""), "the file is empty"));
    CHECK(has(error_of(folder, "text.pt2", "hello"), "it is not a zip archive"));
    CHECK(has(error_of(folder, "text.bin", "hello"), "neither a package"));
    CHECK(has(error_of(folder, "wrapper.py", "import torch"), "Python wrapper"));
    CHECK(has(OpenedPackage::open((folder.path() / "none").string()).status().message(), "no such file"));
}

TEST_CASE("A folder and a library on disk are read with the files beside them") {
    const test::TempFolder folder;
    const std::string place = (folder.path() / "data/aotinductor/model").string();
    std::filesystem::create_directories(place);
    std::ofstream(place + "/c1.wrapper.cpp") << source_of("dynamic_batch.released");
    std::ofstream(place + "/c1.wrapper.so") << test::model_library();
    for (const std::string& path :
         {folder.path().string(), place, place + "/c1.wrapper.so", place + "/c1.wrapper.cpp"}) {
        const Result<OpenedPackage> opened = OpenedPackage::open(path);
        REQUIRE(opened.ok());
        const std::vector<ModelFiles> models = find_models(opened.value().files());
        REQUIRE(models.size() == 1);
        CHECK(models[0].library != nullptr);
        CHECK(models[0].wrapper != nullptr);
    }
}

}  // namespace
}  // namespace aoti_dbg::cli::inspect_test

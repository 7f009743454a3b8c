// Cuts and alters the files of a model: `inspect` must describe them or refuse them, and never crash.

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/inspect/inspect.hpp"
#include "cli/inspect/model_kernels.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/model_writer.hpp"
#include "tests/support/places.hpp"
#include "tests/support/random.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::cli::inspect_fuzz_test {
namespace {

constexpr int kRounds = 600;

// What the source of a whole wrapper has besides.
constexpr const char* kSpecs =
    R"x(out_spec_ = R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": [)x"
    R"x({"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}]}])";)x";

void damage(std::string& bytes, Random& random) {
    if (random.one_in(4)) bytes.resize(random.below(bytes.size() + 1));
    const std::size_t changes = random.below(8);
    for (std::size_t i = 0; i < changes && !bytes.empty(); ++i) {
        char& byte = bytes[random.below(bytes.size())];
        byte = random.one_in(3) ? static_cast<char>(random.bits())
                                : static_cast<char>(random.one_in(2) ? 0xff : 0);
    }
}

test::NamedTexts files() {
    const std::string data = std::string(places::kTestData) + "/call_sites/";
    test::LibraryChoices choices;
    choices.data = test::model_cubin("triton_poi_0");
    return {{"d/c1.wrapper.cpp", test::contents_of(data + "dynamic_batch.released.cpp.txt") +
                                     test::contents_of(data + "dynamic_batch.checks.cpp.txt") + kSpecs},
            {"d/c1.wrapper.json", test::contents_of(data + "custom_op.json")},
            {"d/c1.wrapper_metadata.json", R"({"AOTI_DEVICE_KEY": "cuda", "AOTI_COMPUTE_CAPABILITY": "90"})"},
            {"d/c1.wrapper.so", test::model_library(choices)},
            {"d/c2.cubin", test::model_cubin("triton_poi_0")},
            {"d/c2.kernel.cpp", "extern \"C\" void cpp_fused_relu_0(float* p)\n{\n    *p = 0;\n}\n"}};
}

TEST_CASE("Damaged files of a model are described without a crash") {
    Random random;
    int described = 0;
    for (int round = 0; round < kRounds; ++round) {
        test::NamedTexts all = files();
        damage(all[random.below(all.size())].second, random);
        std::vector<PackagedFile> packaged;
        for (const auto& [name, text] : all)
            packaged.push_back({name, std::as_bytes(std::span(text.data(), text.size()))});
        for (const ModelFiles& files : find_models(packaged)) {
            const InspectedModel model = inspect_model(files);
            ++described;
            CHECK(!inspect_text({model}, "x", true).empty());
            CHECK(nlohmann::json::accept(inspect_json({model}, "x")));
            const WrapperTexts texts = texts_of(files);
            (void)source_of_kernel(texts, read_call_sites(texts), "cpp_fused_relu_0");
        }
    }
    CHECK(described > kRounds / 2);
}

TEST_CASE("A damaged archive is read whole or refused") {
    const test::TempFolder folder;
    const std::string path = (folder.path() / "fuzzed.pt2").string();
    const std::string package = test::archive_of(files());
    Random random(7);
    int refused = 0;
    for (int round = 0; round < kRounds; ++round) {
        std::string bytes = package;
        damage(bytes, random);
        std::ofstream(path, std::ios::binary) << bytes;
        const Result<OpenedPackage> opened = OpenedPackage::open(path);
        refused += opened.ok() ? 0 : 1;
        if (!opened.ok()) continue;
        for (const ModelFiles& files : find_models(opened.value().files()))
            CHECK(!inspect_model(files).folder.empty());
    }
    CHECK(refused > kRounds / 3);
}

}  // namespace
}  // namespace aoti_dbg::cli::inspect_fuzz_test

// What the command reads from the kept packages: files with arbitrary contents, and packages that are alike.
#include "triage/gather/kept_source.hpp"

#include <filesystem>

#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"
#include "tests/support/random.hpp"
#include "tests/support/run_program.hpp"
#include "triage/gather/argument_details.hpp"

namespace aoti_dbg::kept_source_test {
namespace {

namespace fs = std::filesystem;
using test::read_text;
using test::TempFolder;
using test::write_text;
using Texts = std::vector<std::string>;

constexpr ProcessOfModels kProcess = {4242, 1'700'000'000'000'000'000U};
const Texts kCalls = {"aoti_torch_cuda_addmm_out", "triton_poi_fused_relu_0"};

void describe(const fs::path& out, const std::string& package, const std::string& text) {
    const fs::path folder = out / "evidence" / package;
    fs::create_directories(folder);
    write_text(folder / "library.json", text);
}

/// A package with the source of the tests' model, moved down by `lines`.
void keep(const fs::path& out, const std::string& package, const std::string& models = {}, int lines = 0) {
    describe(out, package, R"({"library":"c.wrapper.so","path":"/models/first.so"})");
    const fs::path folder = out / "evidence" / package;
    write_text(folder / "c.wrapper.cpp",
               std::string(static_cast<std::size_t>(lines), '\n') + read_text(places::kFakeWrapper));
    if (!models.empty()) write_text(folder / "models.jsonl", models);
}

std::string noted(std::uint32_t model, const std::string& path = "/models/c.so",
                  const ProcessOfModels& process = kProcess) {
    return "{\"pid\":" + std::to_string(process.pid) +
           ",\"start_ns\":" + std::to_string(process.start_unix_ns) + ",\"model\":" + std::to_string(model) +
           ",\"path\":\"" + path + "\"}\n";
}

/// The results for a call of that model.
struct Details {
    Details(const fs::path& out, std::uint32_t model, const Texts& names = kCalls) {
        call.model = model;
        const std::optional<FoundSource> source =
            find_source(KeptPackages(out.string(), kProcess), names, call, notes);
        const std::vector<TensorOfRun> tensors;
        if (source) arguments = ArgumentDetails(*source, names, {}, tensors).arguments();
    }
    CrashCall call;
    std::vector<CrashArgument> arguments;
    Texts notes;
};

TEST_CASE("Without a folder or a valid description, nothing is known") {
    const TempFolder folder;
    CHECK(KeptPackages(folder.path().string()).all().empty());
    int number = 0;
    for (const char* text : {"", "{", "[]", "\"torch\"", "{}", "{\"torch\":2.11}", "{\"torch\":null}",
                             "{\"torch\":\"\"}", "{\"torch\":[\"2.11.0\"]}", "{\"torch\":\"2.11.0\\n\"}",
                             "{\"torch\":\"<b>\"}", "{\"torch\":\"2.11.0.0.0.0.0.0.0\"}", "\xff\xfe"})
        describe(folder.path(), "c" + std::to_string(number++), text);
    fs::create_directories(folder.path() / "evidence" / "empty");
    fs::create_directories(folder.path() / "evidence" / "odd" / "library.json");
    fs::create_directories(folder.path() / "evidence" / "odd" / "models.jsonl");
    const KeptPackages packages(folder.path().string(), kProcess);
    CHECK(packages.torch_versions().empty());
    CHECK_FALSE(packages.knows_models());
    CHECK(packages.of(0).size() == packages.all().size());
}

TEST_CASE("Each version is listed once, whatever else exists") {
    const TempFolder folder;
    describe(folder.path(), "a", R"({"library":"a.so","torch":"2.9.1","torch_library":"/x"})");
    describe(folder.path(), "b", "{\"torch\":\"2.11.0\"}\n");
    describe(folder.path(), "c", R"({"torch":"2.9.1"})");
    describe(folder.path(), "d", R"({"library":"d.so"})");
    describe(folder.path(), ".4242-0.unfinished", R"({"torch":"2.10.0"})");
    CHECK(KeptPackages(folder.path().string()).torch_versions() == Texts{"2.11.0", "2.9.1"});
}

TEST_CASE("The list of models may have any bytes") {
    const std::string whole = noted(0) + noted(1) + noted(2);
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        Random random(seed + 1);
        std::string bytes = whole;
        for (int i = 0; i < 4; ++i)
            bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
        bytes.resize(random.below(bytes.size() + 1));
        const TempFolder folder;
        describe(folder.path(), "a", bytes);
        write_text(folder.path() / "evidence" / "a" / "models.jsonl", bytes);
        const KeptPackages packages(folder.path().string(), kProcess);
        CHECK(packages.of(0).size() <= 1);
        CHECK(packages.all().front().models.size() <= 5);
    }
}

TEST_CASE("Other processes' models and incomplete lines are skipped") {
    const TempFolder folder;
    keep(folder.path(), "a",
         noted(1, "/x", {4243, kProcess.start_unix_ns}) + noted(2, "/x", {kProcess.pid, 1}) +
             "{\"pid\":4242}\nno JSON\n\n" + noted(3) + noted(3, "/again") + noted(4).substr(0, 60));
    const KeptPackages packages(folder.path().string(), kProcess);
    REQUIRE(packages.all().size() == 1);
    REQUIRE(packages.all().front().models.size() == 1);
    CHECK(packages.all().front().models.front().number == 3);
    CHECK(packages.all().front().models.front().library == "/models/c.so");
}

TEST_CASE("The source of a wrapper is found under the name of each release") {
    const TempFolder folder;
    for (const char* name : {"c.wrapper.cpp", "c.cpp", "c.py"}) {
        const fs::path package = folder.path() / "evidence" / name;
        describe(folder.path(), name, "{}");
        write_text(package / name, "");
        for (const char* other : {"c.kernel.cpp", "c.json", "c.so", "c.cubin"})
            write_text(package / other, "");
    }
    const KeptPackages packages(folder.path().string());
    REQUIRE(packages.all().size() == 3);
    for (const KeptPackage& package : packages.all())
        CHECK(package.wrappers() == Texts{package.folder + "/" + package.name});
}

TEST_CASE("A recorded line refers to the source that the model names, unless the package has its own") {
    const TempFolder folder;
    const std::string end = ",\"source\":\"/t/c.cpp\"}\n";
    for (const bool has_source : {false, true}) {
        std::string line = noted(0);
        line.replace(line.size() - 2, 2, end);
        keep(folder.path(), "c-aaa", line);
        if (!has_source) fs::remove(folder.path() / "evidence" / "c-aaa" / "c.wrapper.cpp");
        CrashCall call;
        call.model = 0;
        call.line = 7;
        Texts notes;
        find_source(KeptPackages(folder.path().string(), kProcess), kCalls, call, notes);
        CHECK((call.line == 7) != has_source);
        CHECK(call.source == (has_source ? "" : "/t/c.cpp"));
    }
}

TEST_CASE("Of packages with similar calls the one of the call's model is used") {
    const TempFolder folder;
    keep(folder.path(), "c-aaa", noted(0) + noted(2, "/models/again.so"));
    keep(folder.path(), "c-bbb", noted(1, "/models/b.so"), 10);
    const Details first(folder.path(), 0);
    const Details second(folder.path(), 1);
    CHECK(first.call.line != 0);
    CHECK(second.call.line == first.call.line + 10);
    CHECK(second.call.package == "c-bbb");
    CHECK(second.call.path == "/models/b.so");
    CHECK(second.call.original_aten == Texts{"aten.add", "aten.relu"});
    REQUIRE(second.arguments.size() == 3);
    CHECK(second.arguments[0].written_by == "aoti_torch_cuda_addmm_out (call 0)");
    CHECK(second.notes.empty());
    // A third model with the first one's package, which was loaded from another path.
    const Details third(folder.path(), 2);
    CHECK(third.call.package == "c-aaa");
    CHECK(third.call.path == "/models/again.so");
    CHECK(third.call.line == first.call.line);
}

TEST_CASE("The call of a Python wrapper is found in what was kept of it") {
    const TempFolder folder;
    describe(folder.path(), "cabc-1", R"({"library":"cabc.py","path":"/cache/cabc.py"})");
    const fs::path package = folder.path() / "evidence" / "cabc-1";
    write_text(package / "cabc.py",
               "triton_poi_fused_0 = async_compile.triton('triton_poi_fused_0', '''\n  tl.x\n''')\n");
    write_text(package / "models.jsonl", noted(0, "/cache/cabc.py"));
    const Texts names = {"extern_kernels.mm", "triton_poi_fused_0"};
    CHECK(Details(folder.path(), 0, names).call.line == 0);  // without sites.json

    const auto argument = [](const std::string& label, const std::string& role) {
        return R"({"label":")" + label + R"(","role":")" + role +
               R"(","parameter":"","is_tensor":true,"view":[],"value":""})";
    };
    const auto site = [](const std::string& name, const std::string& kind, int line,
                         const std::string& arguments) {
        return R"({"name":")" + name + R"(","symbol":"","kind":")" + kind + R"(","line":)" +
               std::to_string(line) + R"(,"nodes":[],"aten":["aten.mm"],"arguments":[)" + arguments + "]}";
    };
    write_text(
        package / "sites.json",
        R"({"path":"/cache/cabc.py","is_on_cuda":true,"inputs":["arg0_1"],"outputs":["buf1"],"sites":[)" +
            site("extern_kernels.mm", "op", 90,
                 argument("arg0_1", "reads") + "," + argument("buf0", "writes")) +
            "," + site("triton_poi_fused_0", "triton", 94, argument("buf0", "reads")) +
            R"(],"kernels":[],"allocations":[],"shared":[],"expected":[],"origin":{}})");
    const Details found(folder.path(), 0, names);
    CHECK(found.call.line == 94);
    CHECK(found.call.package == "cabc-1");
    CHECK(found.call.path == "/cache/cabc.py");
    REQUIRE(found.arguments.size() == 1);
    CHECK(found.arguments[0].label == "buf0");
    CHECK(found.arguments[0].written_by == "extern_kernels.mm (call 0)");
}

TEST_CASE("The package is known even if the call's place in it is not") {
    const TempFolder folder;
    keep(folder.path(), "c-aaa", noted(0));
    keep(folder.path(), "c-bbb", noted(1));
    for (const Texts& names : {Texts{}, Texts{"another_kernel"}}) {
        const Details details(folder.path(), 1, names);
        CHECK(details.call.package == "c-bbb");
        CHECK(details.call.line == 0);
        CHECK(details.arguments.empty());
        CHECK(details.notes.empty());
    }
}

TEST_CASE("A model without a kept package is not taken for another, and a note says so") {
    const TempFolder folder;
    keep(folder.path(), "c-aaa", noted(0));
    const Details details(folder.path(), 1);
    CHECK(details.call.package.empty());
    CHECK(details.call.line == 0);
    CHECK(details.notes == Texts{"the package of model 1 was not kept, so its source is not shown"});
}

TEST_CASE("In a folder without model numbers the only package with such calls is used") {
    const TempFolder folder;
    keep(folder.path(), "c-aaa");
    describe(folder.path(), "d-bbb", "{}");
    const Details one(folder.path(), 0);
    CHECK(one.call.line != 0);
    CHECK(one.call.package == "c-aaa");
    CHECK(one.call.path == "/models/first.so");
    CHECK(one.notes.empty());
    keep(folder.path(), "c-ccc", noted(0, "/x", {kProcess.pid, 1}));
    const Details two(folder.path(), 0);
    CHECK(two.call.line == 0);
    CHECK(two.call.package.empty());
    CHECK(two.arguments.empty());
    CHECK(two.notes == Texts{"2 packages match these calls (c-aaa, c-ccc), so the source is not shown"});
}

TEST_CASE("The text of a kernel's line is that of the model's own package") {
    const TempFolder folder;
    keep(folder.path(), "c-aaa", noted(0));
    keep(folder.path(), "c-bbb", noted(1));
    const fs::path other = folder.path() / "evidence" / "c-bbb" / "c.wrapper.cpp";
    std::string source = read_text(other);
    const std::string pattern = "    xnumel = 128\n";  // of its first kernel
    source.replace(source.find(pattern), pattern.size(), "    xnumel = 256\n");
    write_text(other, source);
    const KeptPackages packages(folder.path().string(), kProcess);
    const auto details = [&packages](std::uint32_t model, Texts& notes) {
        DeviceFault fault;
        fault.kernel = "triton_poi_fused_relu_0";
        fault.line = 15;
        find_kernel_line_of(packages.of(model), fault, notes);
        return fault.source;
    };
    Texts notes;
    CHECK(details(0, notes) == "xnumel = 128");
    CHECK(details(1, notes) == "xnumel = 256");
    CHECK(notes.empty());
    CHECK(details(~0U, notes).empty());
    CHECK(notes.size() == 1);
}

}  // namespace
}  // namespace aoti_dbg::kept_source_test

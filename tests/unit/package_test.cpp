// What is read from a package: prototypes, Triton kernels, proxy ops, and the choice of files. The texts are
// short ones in the style of Inductor's.

#include "model/package.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/catch.hpp"

namespace aoti_dbg::package_test {
namespace {

PackageInfo prototypes(const std::string& source) {
    PackageInfo info;
    read_cpp_prototypes(source, info);
    return info;
}

/// The only prototype of `source`.
Prototype prototype(const std::string& source) {
    const PackageInfo info = prototypes(source);
    INFO(source);
    REQUIRE(info.cpp_kernels.size() == 1);
    return info.cpp_kernels.begin()->second;
}

PackageInfo kernels(const std::string& source) {
    PackageInfo info;
    read_triton_kernels(source, info);
    return info;
}

std::vector<std::string> proxy_ops(const std::string& json) {
    PackageInfo info;
    read_proxy_ops(json, info);
    return info.proxy_ops;
}

class Folder {
  public:
    Folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "aoti_dbg_package_XXXXXX").string();
        REQUIRE(::mkdtemp(pattern.data()) != nullptr);
        path_ = pattern;
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] std::string at(const std::string& name) const { return path_ + "/" + name; }
    void write(const std::string& name, const std::string& text) const {
        std::FILE* const file = std::fopen(at(name).c_str(), "w");
        REQUIRE(file != nullptr);
        CHECK(std::fwrite(text.data(), 1, text.size(), file) == text.size());
        CHECK(std::fclose(file) == 0);
    }

  private:
    std::string path_;
};

TEST_CASE("Prototypes inside comments and strings do not count") {
    CHECK(prototypes("// extern \"C\" void cpp_fused_a(float* p);\n").cpp_kernels.empty());
    CHECK(prototypes("// go on \\\nextern \"C\" void cpp_fused_a(float* p);\n").cpp_kernels.empty());
    CHECK(prototypes("/* extern \"C\" void cpp_fused_a(float* p); */").cpp_kernels.empty());
    CHECK(prototypes("auto s = \"extern \\\"C\\\" void cpp_fused_a(float* p);\";").cpp_kernels.empty());
    CHECK(prototypes("auto s = R\"PY(\nextern \"C\" void cpp_fused_a(float* p); // )\" )PY\";")
              .cpp_kernels.empty());
}

TEST_CASE("A prototype after comments, strings and apostrophes of every kind is still found") {
    const std::string tail = "\nextern \"C\" void cpp_fused_a(float* p);\n";
    for (const char* const head :
         {"// it's Triton: tl.load(in_ptr0 + (x0), xmask, eviction_policy='evict_last')", "char c = '\"';",
          "char c = '\\'';", "auto n = 1'000'000;", "#error don't", "auto s = \"a // b /* c\";",
          "auto s = R\"(un\"balanced /* )\";", "auto s = \"\\\\\";", "int a = b / c;", "/**/",
          "/* ** //*/"}) {
        INFO(head);
        CHECK(prototypes(head + tail).cpp_kernels.count("cpp_fused_a") == 1);
    }
}

TEST_CASE("A text that ends anywhere is read without harm") {
    const std::string whole =
        "extern \"C\"  void  cpp_fused_a(const float* in_ptr0,\n /* x */ const int64_t ks0) { R\"x(\")x\"; "
        "'\\'' }";
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        const PackageInfo info = prototypes(whole.substr(0, length));
        const bool complete = length > whole.find(')');
        CHECK(info.cpp_kernels.size() == (complete ? 1 : 0));
    }
}

TEST_CASE("A type with an uncertain calling convention gives no prototype at all") {
    for (const char* const parameters : {"at::complex<float> z", "at::Half h", "long double x", "MyStruct s",
                                         "float x, ...", "int a = b < c, int d", "float", "double, void",
                                         "const void x", "std::array<int64_t, 2> sizes", "float* p,"}) {
        INFO(parameters);
        const std::string source = std::string("extern \"C\" void cpp_fused_a(") + parameters + ");";
        const bool plain = std::string(parameters) == "float";
        CHECK(prototypes(source).cpp_kernels.size() == (plain ? 1 : 0));
    }
}

TEST_CASE("Numbers by value go to vector registers if floating, everything else to integer registers") {
    const Prototype read = prototype(
        "extern \"C\"  void  cpp_fused_add_0(float* in_out_ptr0,\n"
        "                       const at::BFloat16* in_ptr0,\n"
        "                       const at::complex<float>* in_ptr1,\n"
        "                       const uint8_t* __restrict__ in_ptr2,\n"
        "                       bool* out_ptr0,\n"
        "                       const int64_t ks0,\n"
        "                       const long ks1,\n"
        "                       unsigned long long ks2,\n"
        "                       bool flag,\n"
        "                       const std::map<int, float>& table,\n"
        "                       void (*callback)(int, float),\n"
        "                       const float zuf0,\n"
        "                       double zuf1,\n"
        "                       float zufs[4])\n{");
    CHECK(read == Prototype{12, 2});
    CHECK(read.stack_words() == 6);
}

TEST_CASE("A declaration may have attributes, macros and line breaks, and take no arguments") {
    CHECK(prototype("extern \"C\" \nvoid cpp_fused_a(float* X, float* Y)\n{") == Prototype{2, 0});
    CHECK(prototype("extern \"C\"  void C10_ALWAYS_INLINE_ATTRIBUTE cpp_fused_a(float* p)") ==
          Prototype{1, 0});
    CHECK(prototype("extern \"C\" __attribute__((visibility(\"default\"))) void cpp_a(float* p);") ==
          Prototype{1, 0});
    CHECK(prototype("extern \"C\" void cpp_fused_a();") == Prototype{0, 0});
    CHECK(prototype("extern \"C\" void cpp_fused_a(void);") == Prototype{0, 0});
    CHECK(prototype("extern \"C\" extern \"C\" void cpp_fused_a(int a);") == Prototype{1, 0});
}

TEST_CASE("Calls, other functions and blocks with C linkage are not prototypes") {
    CHECK(prototypes("cpp_fused_a((float*)(buf1.data_ptr()));").cpp_kernels.empty());
    CHECK(prototypes("extern \"C\" { void helper(int); }").cpp_kernels.empty());
    CHECK(prototypes("extern \"C\" int main(int argc, char** argv);").cpp_kernels.empty());
    CHECK(prototypes("extern \"C++\" void cpp_fused_a(int);").cpp_kernels.empty());
    CHECK(prototypes("extern int x; void cpp_fused_a(int);").cpp_kernels.empty());
}

TEST_CASE("Thousands of arguments and of kernels are counted") {
    std::string many = "extern \"C\" void cpp_fused_cat_0(";
    for (int i = 0; i < 5000; ++i) {
        many += "const float* in_ptr" + std::to_string(i) + ",\n                       ";
    }
    CHECK(prototype(many + "float* out_ptr0);") == Prototype{5001, 0});

    std::string kernels;
    for (int i = 0; i < 2000; ++i) {
        kernels += "extern \"C\" void cpp_fused_" + std::to_string(i) + "(float* p, double x);\n";
    }
    CHECK(prototypes(kernels).cpp_kernels.size() == 2000);
}

TEST_CASE("Of two prototypes of one name the one that needs more stack is kept") {
    const std::string small = "extern \"C\" void cpp_fused_a(int* a);";
    const std::string large = "extern \"C\" void cpp_fused_a(int*a,int*b,int*c,int*d,int*e,int*f,int*g);";
    CHECK(prototype(small + large).integers == 7);
    CHECK(prototype(large + small).integers == 7);
}

TEST_CASE("A Triton kernel is read with its name, image and function") {
    const PackageInfo info = kernels(
        "static inline CUfunction loadKernel(std::string filePath, const std::string &funcName) { }\n"
        "// kernels_.old = loadKernel(\"/x/old.cubin\", \"old\", 0);\n"
        "if (kernels_.add_kernel_0 == nullptr) {\n"
        "    kernels_.add_kernel_0 = loadKernel(\"/tmp/a.b/c2ee.cubin\", \"add_kernel\", 16, cubin_dir_); "
        "\n}\n"
        "    kernels_.triton_poi_1 = loadKernel(__triton_poi_1_start, \"triton_poi_1\", 0);\n"
        "    kernels_.two = loadKernel(\n        \"/tmp/q\" \"r.fatbin\",\n        \"a\\\"b\", f(1, \"no\"), "
        "d);\n");
    REQUIRE(info.triton_kernels.size() == 3);
    CHECK(info.triton_kernels[0].name == "add_kernel_0");
    CHECK(info.triton_kernels[0].cubin == "c2ee");
    CHECK(info.triton_kernels[0].function == "add_kernel");
    CHECK(info.triton_kernels[1].name == "triton_poi_1");
    CHECK(info.triton_kernels[1].cubin.empty());
    CHECK(info.triton_kernels[1].function == "triton_poi_1");
    CHECK(info.triton_kernels[2].cubin == "qr");
    CHECK(info.triton_kernels[2].function == "a\"b");
}

TEST_CASE("A Triton kernel that is loaded by macros has the strings of its macros") {
    const PackageInfo info = kernels(
        "#pragma once\n// Auto-generated kernel configurations for AOTInductor lazy compile.\n\n"
        "// Kernel: triton_poi_fused_add_0\n"
        "#define TRITON_POI_FUSED_ADD_0_CUBIN_PATH \"/tmp/a.b/c2ee.cubin\"\n"
        "#define TRITON_POI_FUSED_ADD_0_MANGLED_NAME \"triton_poi_fused_add_0\"\n"
        "#define TRITON_POI_FUSED_ADD_0_NUM_WARPS 4\n#define TRITON_POI_FUSED_ADD_0_XBLOCKS {128}\n"
        "#define TRITON_POI_FUSED_ADD_0_TENSORDESC_META {}\n#define LAST\n"
        "kernels_.triton_poi_fused_add_0 = loadKernel(\n    triton_poi_fused_add_0_result.cubin_path,\n"
        "    triton_poi_fused_add_0_result.mangled_name,\n    triton_poi_fused_add_0_result.shared_mem,\n"
        "    cubin_dir_,\n    &kernels_.loaded_modules_);\n"
        "kernels_.missing_1 = loadKernel(missing_1_result.cubin_path, missing_1_result.mangled_name);\n");
    REQUIRE(info.triton_kernels.size() == 1);
    CHECK(info.triton_kernels[0].name == "triton_poi_fused_add_0");
    CHECK(info.triton_kernels[0].cubin == "c2ee");
    CHECK(info.triton_kernels[0].function == "triton_poi_fused_add_0");
}

TEST_CASE("A call of loadKernel without a function name or without an end gives no kernel") {
    CHECK(kernels("x = loadKernel(path, name, 0);").triton_kernels.empty());
    CHECK(kernels("loadKernel(\"/a.cubin\", \"f\", 0);").triton_kernels.empty());
    CHECK(kernels("x = loadKernel(").triton_kernels.empty());
    CHECK(kernels("x = loadKernel").triton_kernels.empty());
    CHECK(kernels("x = loadKernel; y = \"f\"").triton_kernels.empty());
}

TEST_CASE("Proxy ops have the model's numbers") {
    CHECK(proxy_ops(R"({"nodes": [{"name": "buf1", "node": {"target": "mylib::twice", "inputs":
                        [{"name": "target", "arg": {"target": "wrong"}, "kind": 1}], "metadata": {}}},
                        {"name": "buf4", "node": {"inputs": [], "target": "mylib::bump"}}]})") ==
          std::vector<std::string>{"mylib::twice", "mylib::bump"});
    CHECK(proxy_ops(
              R"({"nodes": [7, {"node": {"target": 3}}, {"target": "no"}, {"node": {"target": "a::b"}}]})") ==
          std::vector<std::string>{"", "", "", "a::b"});
    CHECK(proxy_ops(R"({"other": [{"node": {"target": "a"}}], "nodes": []})").empty());
}

TEST_CASE("Broken JSON and JSON as deep as the file is long are dropped") {
    CHECK(proxy_ops("").empty());
    CHECK(proxy_ops("[]").empty());
    CHECK(proxy_ops(R"({"nodes": [{"node": {"target": "a"}})").empty());
    CHECK(proxy_ops(R"({"nodes": [1e999999, {"node": {"target": "a"}}]})").empty());
    CHECK(proxy_ops(std::string(1 << 20, '[')).empty());
    const std::string deep = std::string(1 << 20, '[') + std::string(1 << 20, ']');
    CHECK(proxy_ops("{\"nodes\": " + deep + "}").size() == 1);
}

TEST_CASE("A package with only its library gives nothing, and errno stays") {
    errno = 42;
    const PackageInfo info = read_package("/nonexistent/x.wrapper.so");
    CHECK(errno == 42);
    CHECK_FALSE(info.has_wrapper_source);
    CHECK(info.cpp_kernels.empty());
    CHECK_FALSE(read_package("").has_wrapper_source);
}

TEST_CASE("The files of a package are found by the name of its library") {
    const Folder folder;
    folder.write("cx.wrapper.so", "");
    folder.write("cx.wrapper.cpp",
                 "extern \"C\" void cpp_fused_a(int* a);\n k.t_0 = loadKernel(__t_0_start, \"t\", 0);");
    folder.write("cq.kernel.cpp",
                 "extern \"C\" void cpp_fused_a(int*, int*, int*, int*, int*, int*, int*) {}\n"
                 "extern \"C\" void cpp_fused_b(double x) {}");
    folder.write("cx.wrapper.json", R"({"nodes": [{"node": {"target": "mylib::op"}}]})");
    folder.write("cx.wrapper_metadata.json", R"({"nodes": [{"node": {"target": "wrong"}}]})");
    const PackageInfo info = read_package(folder.at("cx.wrapper.so"));
    CHECK(info.has_wrapper_source);
    CHECK_FALSE(info.prints_names);
    CHECK(info.cpp_kernels.at("cpp_fused_a") == Prototype{1, 0});  // the wrapper's own declaration counts
    CHECK(info.cpp_kernels.at("cpp_fused_b") == Prototype{0, 1});
    CHECK(info.triton_kernels.size() == 1);
    CHECK(info.proxy_ops == std::vector<std::string>{"mylib::op"});
}

TEST_CASE("Without wrapper source the kernels come from their own file, unless it may be another model's") {
    const Folder folder;
    folder.write("cx.wrapper.so", "");
    folder.write("cq.kernel.cpp", "extern \"C\" void cpp_fused_b(double x) {}");
    CHECK(read_package(folder.at("cx.wrapper.so")).cpp_kernels.size() == 1);
    chmod(folder.at("").c_str(), 01777);  // as /tmp
    CHECK(read_package(folder.at("cx.wrapper.so")).cpp_kernels.empty());
    chmod(folder.at("").c_str(), 0700);
    setenv("TMPDIR", folder.at("").c_str(), 1);
    CHECK(read_package(folder.at("cx.wrapper.so")).cpp_kernels.empty());
    unsetenv("TMPDIR");
    folder.write("other.so", "");
    CHECK(read_package(folder.at("cx.wrapper.so")).cpp_kernels.empty());
}

TEST_CASE("A pipe, a folder or a huge file instead of the wrapper is not read and does not block") {
    const Folder folder;
    const std::string path = folder.at("cx.wrapper.cpp");
    SECTION("a pipe") {
        REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    }
    SECTION("a folder") {
        REQUIRE(::mkdir(path.c_str(), 0700) == 0);
    }
    SECTION("a huge file") {
        folder.write("cx.wrapper.cpp", "x");
        REQUIRE(::truncate(path.c_str(), off_t{1} << 30) == 0);
    }
    CHECK_FALSE(read_package(folder.at("cx.wrapper.so")).has_wrapper_source);
}

TEST_CASE("A wrapper source that prints names is recognized") {
    const Folder folder;
    folder.write("cx.wrapper.so", "");
    folder.write("cx.wrapper.cpp", "void run() { printf(\"[ before_launch: a ]\\n\"); }");
    CHECK(read_package(folder.at("cx.wrapper.so")).prints_names);
}

}  // namespace
}  // namespace aoti_dbg::package_test

// Names of saved tensors: those that would lead elsewhere first, then those that are too long, then
// PyTorch's.
#include "shim/save/tensor_names.hpp"

#include <set>

#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::tensor_names_test {
namespace {

std::string stem(std::string_view kernel, std::string_view label, std::string_view device = "cuda:0",
                 NameRules rules = {}) {
    SavedPlace place;
    place.run = 0;
    place.call = 41;
    place.kernel = kernel;
    place.label = label;
    place.device = device;
    return stem_of(place, rules);
}

}  // namespace

TEST_CASE("No name of a kernel or an argument leads out of the folder") {
    for (const char* evil :
         {"../../etc/passwd", "/etc/passwd", "..", ".", "a/../b", "a\0b", "%2F..%2F", "\n", ""}) {
        for (const std::string& name : {stem(evil, "buf0"), stem("k", evil), stem("k", "buf0", evil)}) {
            CAPTURE(name);
            CHECK(name.find('/') == std::string::npos);
            CHECK(name.find('\0') == std::string::npos);
            CHECK(name.rfind("before_launch_", 0) == 0);
        }
    }
}

TEST_CASE("Escaping is reversible for any bytes, and never gives two names the same result") {
    Random random;
    std::set<std::string> plain;
    std::set<std::string> escaped;
    for (int i = 0; i < 3000; ++i) {
        std::string name;
        for (std::size_t length = random.below(12); name.size() < length;)
            name += random.one_in(2) ? "%2Fa:_~"[random.below(7)] : static_cast<char>(random.bits());
        const bool portable = random.one_in(2);
        const std::string made = escaped_name(name, portable);
        CAPTURE(name, made);
        CHECK(unescaped_name(made) == name);
        CHECK(made.find('/') == std::string::npos);
        if (!portable) continue;
        plain.insert(name);
        escaped.insert(made);
    }
    CHECK(plain.size() == escaped.size());
}

TEST_CASE("Invalid UTF-8 is escaped, and valid text stays readable") {
    CHECK(escaped_name("gr\xC3\xBC\xC3\x9F", false) == "gr\xC3\xBC\xC3\x9F");
    CHECK(escaped_name("\xFF", false) == "%FF");
    CHECK(escaped_name("\xC3", false) == "%C3");
    CHECK(escaped_name("a\tb\x7F", false) == "a%09b%7F");
    CHECK(escaped_name("100%", false) == "100%25");
    CHECK(unescaped_name("100%") == "100%");
    CHECK(unescaped_name("%zz%2") == "%zz%2");
}

TEST_CASE("Portable names avoid what artifact stores and other file systems refuse") {
    const std::string name = stem("at::_ops::add<int>|\"x\"", "a*b?\\c\r\n", "cuda:0", {true, 255}) + ".pt";
    CHECK(name.find_first_of("\":<>|*?\\\r\n/") == std::string::npos);
    CHECK(name == "before_launch_at%3A%3A_ops%3A%3Aadd%3Cint%3E%7C%22x%22_a%2Ab%3F%5Cc%0D%0A_cuda%3A0.pt");
    // Windows refuses these as whole names; ours start with the side and end in an extension.
    for (const char* reserved : {"CON", "nul", "COM1", "aux. ", "LPT9..."}) {
        const std::string whole = stem(reserved, reserved, reserved, {true, 255}) + ".pt";
        CHECK(whole.rfind("before_launch_", 0) == 0);
        CHECK(whole.back() == 't');
    }
}

TEST_CASE("A name that is too long is cut to the file system's limit, and stays unique") {
    const std::string kernel(4000, 'k');
    for (const std::size_t longest : {std::size_t{143}, std::size_t{255}}) {
        const NameRules rules{false, longest};
        const std::string name = stem(kernel, "buf1", "cuda:0", rules);
        CHECK(file_name_of(name, 100000).size() <= longest);
        CHECK(name.size() > longest - 24);
        CHECK(name.substr(name.size() - 12) == "_buf1_cuda:0");
        CHECK(name.find('~') != std::string::npos);
        CHECK(stem(kernel + "x", "buf1", "cuda:0", rules) != name);
        CHECK(file_name_of(stem("k", kernel, kernel, rules), 2).size() <= longest);
        CHECK(file_name_of(stem(kernel, kernel, kernel, rules), 2).size() <= longest);
    }
    SavedPlace place;
    place.kernel = kernel;
    place.label = "buf1";
    place.device = "cuda:0";
    CHECK(whole_stem_if_cut(place, {}) == "before_launch_" + kernel + "_buf1_cuda:0");
    place.kernel = "short";
    CHECK(whole_stem_if_cut(place, {}).empty());
    place.side = EventSide::inputs;
    place.label = kernel;
    CHECK(file_name_of(stem_of(place, {}), 2).size() <= 255);
}

TEST_CASE("A cut splits neither an escape nor a character") {
    for (std::size_t filling = 0; filling < 6; ++filling) {
        std::string kernel(filling, 'a');
        while (kernel.size() < 1000)
            kernel += "\xE2\x82\xAC/";
        const std::string name = stem(kernel, "b");
        const std::string kept = name.substr(0, name.find('~'));
        CAPTURE(name);
        CHECK(escaped_name(unescaped_name(kept), false) == kept);
    }
}

TEST_CASE("Names are PyTorch's, in folders that sort by run and call") {
    SavedPlace place;
    place.run = 0;
    place.call = 41;
    place.kernel = "triton_poi_fused_0";
    place.label = "buf1";
    place.device = "cuda:0";
    CHECK(folder_of(place) == "run0000/call0041");
    CHECK(file_name_of(stem_of(place, {}), 1) == "before_launch_triton_poi_fused_0_buf1_cuda:0.pt");
    CHECK(file_name_of(stem_of(place, {}), 2) == "before_launch_triton_poi_fused_0_buf1_cuda:0.2.pt");
    place.side = EventSide::after;
    place.run = 123456;
    place.call = 9999;
    CHECK(folder_of(place) == "run123456/call9999");
    CHECK(stem_of(place, {}) == "after_launch_triton_poi_fused_0_buf1_cuda:0");
    place.side = EventSide::inputs;
    place.label = "arg0_1";
    place.run = 0;
    CHECK(folder_of(place) == "run0000/inputs");
    CHECK(stem_of(place, {}) == "aoti_model_inputs_arg0_1_cuda:0");
    place.side = EventSide::outputs;
    CHECK(folder_of(place) == "run0000/outputs");
    place.side = EventSide::before;
    place.run = ~0U;
    place.call = kNoCallNumber;
    place.sequence = 123;
    CHECK(folder_of(place) == "outside/seq0000000123");
}

}  // namespace aoti_dbg::tensor_names_test

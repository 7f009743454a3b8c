// The size of a module's image in memory, for each format that a driver accepts.
#include "shim/capture/image_bytes.hpp"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"

namespace aoti_dbg::image_bytes_test {
namespace {

TEST_CASE("An ELF file ends with its last section or table") {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    const std::vector<char> program{std::istreambuf_iterator<char>(file), {}};
    const std::size_t bytes = image_bytes(program.data());
    CHECK(bytes <= program.size());
    // Linkers put nothing behind the table of sections.
    CHECK(bytes + 64 > program.size());
}

TEST_CASE("A fatbin says how large it is, and its wrapper points to it") {
    struct {
        std::uint32_t magic = 0xba55ed50;
        std::uint16_t version = 1;
        std::uint16_t header_bytes = 16;
        std::uint64_t bytes = 1000;
    } const fatbin;
    CHECK(image_bytes(&fatbin) == 1016);
    struct {
        std::uint32_t magic = 0x466243b1;
        std::uint32_t version = 1;
        const void* data = nullptr;
    } wrapper;
    wrapper.data = &fatbin;
    CHECK(unwrapped_image(&wrapper) == &fatbin);
    CHECK(unwrapped_image(&fatbin) == &fatbin);
}

TEST_CASE("A text ends with its zero, and other bytes have no known size") {
    const std::string ptx = ".version 7.0\n.target sm_52\n";
    CHECK(image_bytes(ptx.c_str()) == ptx.size() + 1);
    const std::uint64_t other[] = {0x0123456789abcdef, 0};
    CHECK(image_bytes(other) == 0);
}

}  // namespace
}  // namespace aoti_dbg::image_bytes_test

// The argument that an address belongs to, and its wording: certain where it is known, likely where it may be
// another.
#include "triage/judge/fault_words.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg::fault_words_test {
namespace {

constexpr std::uint64_t kFirst = 0x7f0000000000;
constexpr std::uint64_t kSecond = 0x7f0000100000;
constexpr std::uint64_t kTiB = std::uint64_t{1} << 40U;

struct Scene {
    std::vector<std::uint64_t> addresses;
    std::string what = "write";
    std::string memory = {};
    bool is_certain = true;
    int by_line = -1;
    std::int32_t error = 700;
    bool second_is_bounded = true;
    bool has_arguments = true;
    std::uint64_t base = kFirst;
};

std::string words_of(const Scene& scene, PlacedAccess* result = nullptr) {
    DeviceFault fault;
    fault.error = scene.error;
    FaultedAccess& access = fault.accessed.emplace();
    access.what = scene.what;
    access.bytes = 4;
    access.memory = scene.memory;
    access.is_certain = scene.is_certain;
    for (std::size_t i = 0; i < scene.addresses.size(); ++i)
        access.threads.push_back({"[" + std::to_string(i) + ", 0, 0]", scene.addresses[i]});
    std::vector<CrashArgument> arguments(3);
    arguments[0].label = "arg0_1";
    arguments[1].label = "buf12";
    arguments[2].label = "8L";
    if (scene.has_arguments) {
        arguments[0].begin = scene.base;
        arguments[0].bytes = 4096;
        arguments[1].begin = scene.base + (kSecond - kFirst);
        arguments[1].bytes = scene.second_is_bounded ? 1024 : 0;
    }
    fault.parameter = "ptr";
    if (scene.by_line >= 0) arguments[static_cast<std::size_t>(scene.by_line)].parameter = "ptr";
    const PlacedAccess placed = place_access(fault, arguments);
    if (result != nullptr) *result = placed;
    return access_words(fault, arguments, placed);
}

}  // namespace

TEST_CASE("An access beside the argument that its line names certainly belongs to it, with a distance") {
    CHECK(words_of({.addresses = {kSecond + 1024 + 512}, .by_line = 1}) ==
          "write 512 bytes past the end of buf12");
    CHECK(words_of({.addresses = {kSecond + 1024}, .by_line = 1}) == "write just past the end of buf12");
    CHECK(words_of({.addresses = {kSecond + 1022}, .by_line = 1}) == "write just past the end of buf12");
    CHECK(words_of({.addresses = {kSecond + 1025}, .by_line = 1}) == "write 1 byte past the end of buf12");
    CHECK(words_of({.addresses = {kFirst - 4096}, .what = "read", .by_line = 0}) ==
          "read 4 KiB before the start of arg0_1");
    CHECK(words_of({.addresses = {kSecond + 1024 + (82U << 20U)}, .what = "atomic", .by_line = 1}) ==
          "atomic update 82 MiB past the end of buf12");
}

TEST_CASE("Within an argument the address is given, because its memory no longer exists") {
    CHECK(words_of({.addresses = {kFirst + 8}, .what = "read"}) ==
          "read from arg0_1 at 0x7f0000000008 (8 bytes after its start)");
    CHECK(words_of({.addresses = {kFirst + 8, kFirst + 12}, .what = "read", .by_line = 0}) ==
          "read from arg0_1 at 0x7f0000000008 (8 bytes after its start)");
}

TEST_CASE("Uncertain facts are worded as likely") {
    // The line names one argument, and the address lies beside the other.
    CHECK(words_of({.addresses = {kSecond - 8}, .by_line = 0}) ==
          "likely a write 1044472 bytes past the end of arg0_1");
    // No line names an argument.
    CHECK(words_of({.addresses = {kSecond - 8}}) == "likely a write 8 bytes before the start of buf12");
    CHECK(words_of({.addresses = {kSecond + 1024}, .is_certain = false, .by_line = 1}) ==
          "likely a write just past the end of buf12");
    CHECK(words_of({.addresses = {kSecond + 8}, .by_line = 1, .second_is_bounded = false}) ==
          "likely a write to buf12, 8 bytes after its start");
    CHECK(words_of({.addresses = {kSecond + 1024 + (kTiB / 2)}, .by_line = 1}) ==
          "likely a write 512 GiB past the end of buf12");
    CHECK(words_of({.addresses = {}, .by_line = 1}) == "likely a write to buf12");
}

TEST_CASE("Far from all arguments, and without a line, the access belongs to none") {
    CHECK(words_of({.addresses = {0x10}, .what = "read"}) ==
          "read of 4 bytes at 0x10, far from every argument");
}

TEST_CASE("An address that the driver does not know has no place and no distance") {
    PlacedAccess placed;
    for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{0x10}, kFirst - (2 * kTiB),
                                        kSecond + 1024 + (2 * kTiB), UINT64_MAX - 3}) {
        CAPTURE(address);
        CHECK(words_of({.addresses = {address}, .what = "read", .by_line = 1}, &placed) ==
              "likely a read from buf12");
        CHECK(placed.place == PlacedAccess::Place::unknown);
        CHECK(placed.distance == 0);
        CHECK(placed.label.empty());
    }
    CHECK(words_of({.addresses = {0}, .what = "read"}, &placed) == "read of 4 bytes at 0x0");
    CHECK(placed.place == PlacedAccess::Place::unknown);
    // An address near null is still not a neighbor of an argument at a low address.
    CHECK(words_of({.addresses = {0}, .by_line = 1, .base = 0x1000}, &placed) == "likely a write to buf12");
    CHECK(placed.place == PlacedAccess::Place::unknown);
}

TEST_CASE("The argument by line stays the only suspect of an address without a place") {
    DeviceFault fault;
    fault.error = 700;
    fault.accessed.emplace().what = "read";
    fault.accessed->bytes = 4;
    fault.accessed->is_certain = true;
    fault.accessed->threads = {{"[0, 0, 0]", 0}};
    std::vector<CrashArgument> arguments(2);
    arguments[0].label = "arg0_1";
    arguments[1].label = "table";
    arguments[0].begin = kFirst;
    arguments[1].begin = kSecond;
    arguments[0].bytes = arguments[1].bytes = 4096;
    fault.parameter = arguments[1].parameter = "ptr";
    const PlacedAccess placed = place_access(fault, arguments);
    CHECK(placed.suspects == std::vector<std::size_t>{1});
    CHECK(placed.is_likely);
    CHECK(access_words(fault, arguments, placed) == "likely a read from table");
}

TEST_CASE("Of several threads the one with the wrong access is reported") {
    PlacedAccess placed;
    CHECK(words_of({.addresses = {kSecond, kSecond + 1020, kSecond + 1028}, .by_line = 1}, &placed) ==
          "write 4 bytes past the end of buf12");
    CHECK(placed.thread == "[2, 0, 0]");
    CHECK(placed.address == "0x7f0000100404");
    CHECK(words_of({.addresses = {0x1004, 0x1001}, .error = 716}, &placed) == "write of 4 bytes at 0x1001");
    CHECK(placed.thread == "[1, 0, 0]");
}

TEST_CASE("For a kernel with unknown arguments the address is all") {
    CHECK(words_of({.addresses = {0x10}, .what = "read", .has_arguments = false}) ==
          "read of 4 bytes at 0x10");
    CHECK(words_of({.addresses = {0x10, 0x14}, .what = "read", .has_arguments = false}) ==
          "likely a read of 4 bytes at 0x10");
    CHECK(words_of({.addresses = {0x400400}, .memory = "shared"}) ==
          "write of 4 bytes in shared memory at 0x400400");
    CHECK(words_of({.addresses = {}, .memory = "local"}) == "write of 4 bytes in local memory");
}

}  // namespace aoti_dbg::fault_words_test

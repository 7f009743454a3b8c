// The address of a fault, from the registers of its threads. If a thread may have changed them before it
// stopped, there is no address.
#include "gpu_dump/fault_access.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/gpu_dump_writer.hpp"

namespace aoti_dbg::test::fault_access_test {
namespace {

std::string code_of(const gpu::Instruction& instruction) {
    return Packed().u64(instruction.low).u64(instruction.high).bytes();
}

constexpr gpu::Instruction kLoad{0x00000004040b9981, 0x000ea2000c1e1900};   // @!P1 LDG.E R11, [R4.64]
constexpr gpu::Instruction kOther{0x0000000409067825, 0x010fc800078e0206};  // IMAD.WIDE R6, R9, 0x4, R6
constexpr gpu::Instruction kSame{0x0000000409047825, 0x008fd000078e0204};   // IMAD.WIDE R4, R9, 0x4, R4
constexpr gpu::Instruction kBranch{0x0000000000007947, 0x000fea0003800000};
constexpr gpu::Instruction kOwn{0x0000000404059981, 0x000ea2000c1e1900};     // @!P1 LDG.E R5, [R4.64]
constexpr gpu::Instruction kShared{0x000000ffff007988, 0x000fe20008000805};  // STS [UR5], RZ

constexpr gpu::Instruction kMasked{0x00000000040d7fae,
                                   0x000fe80008941c44};  // LDGSTS.E.ZFILL.128 [R13], [R4.64], P1
constexpr gpu::Instruction kToPredicates{0x0000007f05007804, 0x000fe40000000000};  // R2P PR, R5, 0x7f

/// Lanes 0 to 3 of a warp. The last is not active, and the predicate keeps lane 2 out.
std::optional<gpu::FaultAccess> access_of(const gpu::Instruction& faulting, const gpu::Instruction& next,
                                          bool has_registers = true, std::uint64_t base = 0x7f0000001000) {
    DumpWriter writer = usual_dump();
    DumpDevice& device = writer.devices[0];
    WrittenFunction kernel{"mul", 0x200, kMulAddress, true};
    kernel.code = std::string(0x10, '\0') + code_of(faulting) + code_of(next);
    device.contexts[0].modules[1].image = module_image({{"add", 0x200, kAddAddress, true}, kernel});
    DumpWarp& warp = device.sms[1].blocks[0].warps[1];
    warp.active = 7;
    warp.uniform_registers = {0, 0, 0, 0, 0, 0x400400};
    for (DumpLane& lane : warp.lanes) {
        lane.pc = kMulAddress + 0x30;
        if (has_registers)
            lane.registers = {0,
                              0,
                              0,
                              0,
                              static_cast<std::uint32_t>(base) + 4 * lane.id,
                              static_cast<std::uint32_t>(base >> 32U),
                              0,
                              0};
        lane.predicates = {0, lane.id == 2 ? 1U : 0U, 0, 0, 0, 0, 0, 1};
    }
    const std::string bytes = writer.bytes();
    const auto dump = gpu::read_gpu_dump(std::as_bytes(std::span(bytes.data(), bytes.size())));
    REQUIRE(dump.ok());
    const std::vector<gpu::Fault> faults = gpu::faults(dump.value(), gpu::CodeMap(dump.value()));
    REQUIRE(faults.size() == 1);
    return gpu::fault_access(dump.value(), faults.front());
}

}  // namespace

TEST_CASE("Each thread that executed the instruction has an address") {
    const auto access = access_of(kLoad, kOther);
    REQUIRE(access);
    CHECK(access->instruction.access == gpu::AccessKind::read);
    CHECK(access->is_certain);
    REQUIRE(access->threads.size() == 2);
    CHECK(access->threads[0].address == 0x7f0000001000);
    CHECK(access->threads[1].address == 0x7f0000001004);
    CHECK(access->threads[1].index == gpu::Dim3{33, 0, 0});
}

TEST_CASE("If the mask of a thread is unknown, its access is uncertain") {
    const auto known = access_of(kLoad, kOther);
    const auto unknown = access_of(kLoad, kToPredicates);
    REQUIRE(known);
    REQUIRE(unknown);
    CHECK(known->is_certain);
    CHECK_FALSE(unknown->is_certain);
    // One of them may have done nothing.
    CHECK(unknown->threads.size() == 3);
}

TEST_CASE("A thread that fills with zeros has read nothing, whatever its address") {
    const auto known = access_of(kMasked, kOther);
    REQUIRE(known);
    CHECK(known->instruction.access == gpu::AccessKind::read);
    CHECK(known->instruction.bytes == 16);
    CHECK(known->is_certain);
    REQUIRE(known->threads.size() == 1);
    CHECK(known->threads[0].address == 0x7f0000001008);
    const auto unknown = access_of(kMasked, kToPredicates);
    REQUIRE(unknown);
    CHECK_FALSE(unknown->is_certain);
    CHECK(unknown->threads.size() == 3);
}

TEST_CASE("If a register was written meanwhile there is no address, but still an access") {
    const auto access = access_of(kLoad, kSame);
    REQUIRE(access);
    CHECK(access->instruction.bytes == 4);
    CHECK(access->threads.empty());
}

TEST_CASE("Behind a branch, and where the access loads its own address, the address is uncertain") {
    const auto behind = access_of(kLoad, kBranch);
    REQUIRE(behind);
    CHECK(behind->threads.size() == 2);
    CHECK_FALSE(behind->is_certain);
    const auto own = access_of(kOwn, kOther);
    REQUIRE(own);
    CHECK(own->threads.size() == 2);
    CHECK_FALSE(own->is_certain);
}

TEST_CASE("Half an address counts only if it is certain to be the whole one") {
    const auto lost = access_of(kLoad, kBranch, true, 0x42000000);
    REQUIRE(lost);
    CHECK(lost->instruction.bytes == 4);
    CHECK(lost->threads.empty());
    const auto null = access_of(kLoad, kBranch, true, 0x10);
    REQUIRE(null);
    CHECK(null->threads.size() == 2);
    const auto certain = access_of(kLoad, kOther, true, 0x42000000);
    REQUIRE(certain);
    CHECK(certain->threads.size() == 2);
}

TEST_CASE("An address may be in the warp's registers") {
    const auto access = access_of(kShared, kOther);
    REQUIRE(access);
    CHECK(access->instruction.space == gpu::Space::shared);
    REQUIRE(access->threads.size() == 3);
    CHECK(access->threads.front().address == 0x400400);
}

TEST_CASE("A dump without registers has no address, and code without an access has nothing") {
    const auto access = access_of(kLoad, kOther, false);
    REQUIRE(access);
    CHECK(access->threads.empty());
    CHECK_FALSE(access_of(kOther, kOther));
}

}  // namespace aoti_dbg::test::fault_access_test

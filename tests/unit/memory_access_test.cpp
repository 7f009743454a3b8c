// The memory accesses of instructions: encodings from ptxas for each architecture, with the output of
// nvdisasm.
#include "gpu_dump/memory_access.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg::gpu::memory_access_test {
namespace {

struct Known {
    const char* text;
    std::uint32_t architecture;
    Instruction instruction;
    MemoryAccess access;
};

constexpr std::uint32_t kNo = kNoRegister;
constexpr auto kGlobal = Space::global;
constexpr auto kShared = Space::shared;
constexpr auto kLocal = Space::local;

const Known kKnown[] = {
    {"LDG.E.128 R12, desc[UR6][R26.64+0x10]",
     90,
     {0x000010061a0c7981, 0x000ea6000c1e1d00},
     {AccessKind::read, kGlobal, 16, 26, 0, kNo, 0x10, 12}},
    {"LDG.E.U8 R11, desc[UR6][R26.64+0x4]",
     90,
     {0x000004061a0b7981, 0x000f28000c1e1100},
     {AccessKind::read, kGlobal, 1, 26, 0, kNo, 4, 11}},
    {"LDG.E.S8 R17, desc[UR6][R26.64+0x7ffff0]",
     90,
     {0x7ffff0061a117981, 0x000f68000c1e1300},
     {AccessKind::read, kGlobal, 1, 26, 0, kNo, 0x7ffff0, 17}},
    {"@!P1 LDG.E R11, desc[UR4][R4.64]",
     90,
     {0x00000004040b9981, 0x000ea2000c1e1900},
     {AccessKind::read, kGlobal, 4, 4, 0, kNo, 0, 11}},
    {"LDG.E.CONSTANT R4, desc[UR6][R26.64+0x80]",
     90,
     {0x000080061a047981, 0x000f68000c1e9900},
     {AccessKind::read, kGlobal, 4, 26, 0, kNo, 0x80, 4}},
    {"STG.E.64 desc[UR6][R26.64+0x50], R2",
     90,
     {0x000050021a007986, 0x0085e8000c101b06},
     {AccessKind::write, kGlobal, 8, 26, 0, kNo, 0x50, kNo}},
    {"STG.E.U8 desc[UR6][R26.64+-0x4], R11",
     90,
     {0xfffffc0b1a007986, 0x0107e8000c101106},
     {AccessKind::write, kGlobal, 1, 26, 0, kNo, -4, kNo}},
    {"STG.E.U16 desc[UR6][R26.64+-0x700000], R17",
     90,
     {0x900000111a007986, 0x0209e8000c101506},
     {AccessKind::write, kGlobal, 2, 26, 0, kNo, -0x700000, kNo}},
    {"LD.E.128 R12, desc[UR6][R28.64+0x10]",
     90,
     {0x000010061c0c7980, 0x000f68000c101d00},
     {AccessKind::read, kGlobal, 16, 28, 0, kNo, 0x10, 12}},
    {"ST.E desc[UR6][R28.64+0xc], R3",
     90,
     {0x00000c031c007985, 0x0043e8000c101906},
     {AccessKind::write, kGlobal, 4, 28, 0, kNo, 0xc, kNo}},
    {"ATOMG.E.ADD.STRONG.GPU PT, R17, desc[UR6][R26.64+0x30], R2",
     90,
     {0x000030021a1179a8, 0x010f2200081ee1c6},
     {AccessKind::atomic, kGlobal, 4, 26, 0, kNo, 0x30, 17}},
    {"ATOMG.E.CAS.64.STRONG.GPU PT, R6, [R26+0x40], R24, R26",
     90,
     {0x000040181a0673a9, 0x000f6800001ee51a},
     {AccessKind::atomic, kGlobal, 8, 26, 0, kNo, 0x40, 6}},
    {"REDG.E.ADD.F32x4.FTZ.RN.STRONG.GPU desc[UR6][R26.64+0x40], R8",
     90,
     {0x000040081a0079a6, 0x000fe8000c10f786},
     {AccessKind::atomic, kGlobal, 16, 26, 0, kNo, 0x40, kNo}},
    {"REDG.E.ADD.F64.RN.STRONG.GPU desc[UR6][R26.64+0x38], R0",
     90,
     {0x000038001a0079a6, 0x0003e8000c10ff86},
     {AccessKind::atomic, kGlobal, 8, 26, 0, kNo, 0x38, kNo}},
    {"LDS.S8 R19, [R0+0x7]",
     90,
     {0x0000070000137984, 0x000f620000000200},
     {AccessKind::read, kShared, 1, 0, 0, kNo, 7, 19}},
    {"LDS R18, [UR4+0x18]",
     90,
     {0x00001804ff127984, 0x000fe80008000800},
     {AccessKind::read, kShared, 4, kNo, 0, 4, 0x18, 18}},
    {"STS [UR5], RZ",
     90,
     {0x000000ffff007988, 0x000fe20008000805},
     {AccessKind::write, kShared, 4, kNo, 0, 5, 0, kNo}},
    {"LDL.64 R4, [R7+0x28]",
     90,
     {0x0000280007047983, 0x000ea80000100a00},
     {AccessKind::read, kLocal, 8, 7, 0, kNo, 0x28, 4}},
    {"STL.128 [R7+0x10], R12",
     90,
     {0x0000100c07007387, 0x000fe80000100c00},
     {AccessKind::write, kLocal, 16, 7, 0, kNo, 0x10, kNo}},
    {"LDG.E.64.SYS R22, [R34+0x8]",
     70,
     {0x0000080022167381, 0x000ea800001eeb00},
     {AccessKind::read, kGlobal, 8, 34, 0, kNo, 8, 22}},
    {"STG.E.SYS [R34+0x40], R15",
     70,
     {0x0000400f22007386, 0x0003e8000010e900},
     {AccessKind::write, kGlobal, 4, 34, 0, kNo, 0x40, kNo}},
    {"ATOMG.E.ADD.F32.FTZ.RN.STRONG.GPU PT, R15, [R34+0x34], R15",
     70,
     {0x0000340f220f73a8, 0x000ea800001f47ff},
     {AccessKind::atomic, kGlobal, 4, 34, 0, kNo, 0x34, 15}},
    {"RED.E.ADD.F64.RN.STRONG.GPU [R34+0x38], R34",
     70,
     {0x000038222200798e, 0x000fe80000114d00},
     {AccessKind::atomic, kGlobal, 8, 34, 0, kNo, 0x38, kNo}},
    {"LDS.U.128 R4, [R27+0x30]",
     70,
     {0x000030001b047984, 0x000e220000001c00},
     {AccessKind::read, kShared, 16, 27, 0, kNo, 0x30, 4}},
    {"LDS.128 R8, [R3.X16+0x30]",
     80,
     {0x0000300003087984, 0x000e68000000cc00},
     {AccessKind::read, kShared, 16, 3, 4, kNo, 0x30, 8}},
    {"STS.64 [R27.X8], R22",
     80,
     {0x000000161b007388, 0x0001e20000008a00},
     {AccessKind::write, kShared, 8, 27, 3, kNo, 0, kNo}},
    {"LDG.E R21, [R30.64]",
     80,
     {0x000000041e157981, 0x000f68000c1e1900},
     {AccessKind::read, kGlobal, 4, 30, 0, kNo, 0, 21}},
    {"ATOMG.E.MAX.S64.STRONG.GPU PT, R10, [R30.64+0x40], R28",
     80,
     {0x0000401c1e0a79a8, 0x000f2800091eebc4},
     {AccessKind::atomic, kGlobal, 8, 30, 0, kNo, 0x40, 10}},
    {"STG.E.STRONG.GPU desc[UR8][R34.64+0x24], R2",
     120,
     {0x0000240222007986, 0x000fe8000c10f908},
     {AccessKind::write, kGlobal, 4, 34, 0, kNo, 0x24, kNo}},
    {"LDG.E.S16 R19, desc[UR8][R34.64+0x6]",
     120,
     {0x0000060822137981, 0x000f68000c1e1700},
     {AccessKind::read, kGlobal, 2, 34, 0, kNo, 6, 19}},
    {"ATOMG.E.ADD.STRONG.GPU PT, R17, desc[UR8][R34.64+0x30], R2",
     120,
     {0x80003002221179a8, 0x010f2200081ef108},
     {AccessKind::atomic, kGlobal, 4, 34, 0, kNo, 0x30, 17}},
    {"ATOMG.E.ADD.STRONG.GPU PT, R23, desc[UR8][R6.64+-0x400000], R9",
     100,
     {0xc0000009061779a8, 0x000f2200081ef108},
     {AccessKind::atomic, kGlobal, 4, 6, 0, kNo, -0x400000, 23}},
    {"ATOMG.E.ADD.STRONG.GPU PT, R21, desc[UR8][R6.64+0x3ffffc], R9",
     100,
     {0xbffffc09061579a8, 0x000f2200081ef108},
     {AccessKind::atomic, kGlobal, 4, 6, 0, kNo, 0x3ffffc, 21}},
    {"ATOMG.E.ADD.F64.RN.STRONG.GPU PT, R14, desc[UR8][R6.64+0x38], R14",
     100,
     {0x8000380e060e79a3, 0x020ea8000c1eff08},
     {AccessKind::atomic, kGlobal, 8, 6, 0, kNo, 0x38, 14}},
    {"ATOMG.E.CAS.64.STRONG.GPU PT, R16, [R6+0x40], R4, R6",
     100,
     {0x00004004061073a9, 0x002f6800001ee506},
     {AccessKind::atomic, kGlobal, 8, 6, 0, kNo, 0x40, 16}},
    {"ATOM.E.ADD.STRONG.GPU PT, RZ, desc[UR8][R2.64+0x2c], R9",
     100,
     {0x80002c0902ff798a, 0x000fe200081ef108},
     {AccessKind::atomic, kGlobal, 4, 2, 0, kNo, 0x2c, 255}},
    {"REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R6.64+-0x2c], R13",
     120,
     {0xffffd40d060079a6, 0x000fe8000c12f304},
     {AccessKind::atomic, kGlobal, 4, 6, 0, kNo, -0x2c, kNo}},
    {"REDG.E.ADD.64.STRONG.GPU desc[UR8][R6.64+0x38], R4",
     100,
     {0x000038040600798e, 0x000fe8000c12e508},
     {AccessKind::atomic, kGlobal, 8, 6, 0, kNo, 0x38, kNo}},
    {"LDGSTS.E [R13], [R2.64]",
     80,
     {0x00000000020d7fae, 0x0003e2000b921844},
     {AccessKind::read, kGlobal, 4, 2, 0, kNo, 0, kNo}},
    {"LDGSTS.E.BYPASS.128.ZFILL [R13+0x80], [R8.64+-0x10], P0",
     86,
     {0x00080ff0080d7fae, 0x000fe80008141c44},
     {AccessKind::read, kGlobal, 16, 8, 0, kNo, -0x10, kNo, {0, false}}},
    {"LDGSTS.E.BYPASS.LTC256B.128 [R5+0x8000], [R2.64+-0x800]",
     80,
     {0x0800080002057fae, 0x0003e8000b901dc6},
     {AccessKind::read, kGlobal, 16, 2, 0, kNo, -0x800, kNo}},
    {"LDGSTS.E.BYPASS.128 [R5+0x40], desc[UR4][R2.64+0x40]",
     80,
     {0x0004004002057fae, 0x0003e8200b901c44},
     {AccessKind::read, kGlobal, 16, 2, 0, kNo, 0x40, kNo}},
    {"LDGSTS.E.LTC256B [R7+0x410], desc[UR6][R2.64+0x7fc]",
     90,
     {0x004107fc02077fae, 0x0005e8000b9219c6},
     {AccessKind::read, kGlobal, 4, 2, 0, kNo, 0x7fc, kNo}},
    {"LDGSTS.E.64 [R15+0x10], desc[UR4][R6.64+0x20]",
     90,
     {0x00010020060f7fae, 0x000fe2000b921a44},
     {AccessKind::read, kGlobal, 8, 6, 0, kNo, 0x20, kNo}},
    {"LDGSTS.E [R7+0x90], desc[UR6][R2.64+0x70], !PT",
     90,
     {0x0009007002077fae, 0x0005e8000f921846},
     {AccessKind::read, kGlobal, 4, 2, 0, kNo, 0x70, kNo, {7, true}}},
    {"LDGSTS.E.BYPASS.LTC128B.128 [R15+0x300], desc[UR4][R10.64]",
     100,
     {0x003000000a0f7fae, 0x000fe8000b981a04},
     {AccessKind::read, kGlobal, 16, 10, 0, kNo, 0, kNo}},
    {"LDGSTS.E.BYPASS.128.ZFILL [R15+0x80], desc[UR4][R8.64+-0x10], P1",
     100,
     {0x00080ff0080f7fae, 0x000fe800089c1804},
     {AccessKind::read, kGlobal, 16, 8, 0, kNo, -0x10, kNo, {1, false}}},
    {"@!P1 LDGSTS.E.BYPASS.128 [R15+0x100], desc[UR4][R4.64]",
     120,
     {0x00100000040f9fae, 0x000fe8000b981804},
     {AccessKind::read, kGlobal, 16, 4, 0, kNo, 0, kNo}},
};

}  // namespace

TEST_CASE("An access is read as the disassembler reads it") {
    for (const Known& known : kKnown) {
        CAPTURE(known.text);
        const std::optional<MemoryAccess> found = memory_access(known.instruction, known.architecture);
        REQUIRE(found);
        CHECK(found->access == known.access.access);
        CHECK(found->space == known.access.space);
        CHECK(found->bytes == known.access.bytes);
        CHECK(found->address_register == known.access.address_register);
        CHECK(found->shift == known.access.shift);
        CHECK(found->uniform_register == known.access.uniform_register);
        CHECK(found->offset == known.access.offset);
        CHECK(found->result_register == known.access.result_register);
        CHECK(found->mask.predicate == known.access.mask.predicate);
        CHECK(found->mask.is_negated == known.access.mask.is_negated);
    }
}

TEST_CASE("An instruction that is not fully understood has no access") {
    const auto is_none = [](std::uint32_t architecture, Instruction instruction) {
        return !memory_access(instruction, architecture);
    };
    CHECK(is_none(90, {0x0000000409047825, 0x008fd000078e0204}));   // IMAD.WIDE R4, R9, 0x4, R4
    CHECK(is_none(90, {0x00000a00ff017b82, 0x000fe20000000800}));   // LDC R1, c[0x0][0x28]
    CHECK(is_none(90, {0x000000001a007fae, 0x000fe8000b9a1004}));   // LDGSTS.E [R0] of sm_100
    CHECK(is_none(100, {0x000000001a007fae, 0x000fe8000b921846}));  // the same of sm_90
    CHECK(is_none(75, {0x000000001a007fae, 0x000fe8000b921846}));   // sm_75 does not have it
    CHECK(is_none(90, {0x000000001a007dae, 0x000fe8000b921846}));   // it has another form
    CHECK(is_none(120, {0x00003002221179a8, 0x010f2200081ef108}));  // ATOMG without the required bit
    CHECK(is_none(70, {0x0000001024087980, 0x000ee8000010ed00}));   // LD.E.128.SYS without it
    CHECK(is_none(90, {0x000000061a177981, 0x000f6800041e1900}));   // a base beside the registers
    CHECK(is_none(60, {0x0000001a24087381, 0x000ee8000010ed00}));   // no such encoding
    CHECK(is_none(200, {0x000010061a0c7981, 0x000ea6000c1e1d00}));  // a future architecture
    CHECK(architecture_number("sm_90a") == 90);
    CHECK(architecture_number("sm_120") == 120);
    CHECK(architecture_number("compute_90") == 0);
}

TEST_CASE("A register write is known to its width, and assumed where it is unclear") {
    const Instruction wide{0x0000000409067825, 0x010fc800078e0206};  // IMAD.WIDE R6, R9, 0x4, R6
    CHECK(may_write(wide, 6, 2, false));
    CHECK(may_write(wide, 7, 2, false));
    CHECK_FALSE(may_write(wide, 4, 2, false));
    CHECK_FALSE(may_write(wide, 8, 2, false));
    const Instruction quad{0x000010061a0c7981, 0x000ea6000c1e1d00};  // LDG.E.128 R12
    CHECK(may_write(quad, 15, 1, false));
    CHECK_FALSE(may_write(quad, 16, 1, false));
    const Instruction uniform{0x0000820000047ab9, 0x000fc60000000a00};  // ULDC.64 UR4, c[0x0][0x208]
    CHECK_FALSE(may_write(uniform, 4, 2, false));
    CHECK(may_write(uniform, 5, 1, true));
    const Instruction store{0x000050021a007986, 0x0085e8000c101b06};
    CHECK_FALSE(may_write(store, 0, 2, false));
    const Instruction copy{0x000400400d057fae, 0x0003e8000b901c44};  // LDGSTS [R5+0x40], [R13.64+0x40]
    CHECK_FALSE(may_write(copy, 4, 10, false));
    const Instruction exit{0x000000000000894d, 0x000ff00003800000};
    CHECK_FALSE(may_write(exit, 0, 2, false));
    CHECK_FALSE(may_jump(exit));
    CHECK(may_jump({0x0000000000007947, 0x000fea000383ffff}));  // BRA
    CHECK(may_write({0x00000000000271ff, 0}, 4, 1, false));     // an unknown instruction
}

}  // namespace aoti_dbg::gpu::memory_access_test

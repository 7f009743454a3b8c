// `aoti-dbg show` of a GPU core dump: dumps written by hand, and the resulting text.
#include <algorithm>
#include <filesystem>

#include "tests/support/catch.hpp"
#include "tests/support/gpu_dump_writer.hpp"
#include "tests/support/places.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::test::cli_show_gpu_dump_test {

namespace fs = std::filesystem;

namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

struct Dump {
    explicit Dump(const std::string& bytes, const std::string& name = "core_1_node7_42.nvcudmp")
        : path(folder.path() / name) {
        write_text(path, bytes);
    }
    explicit Dump(DumpWriter writer) : Dump(writer.bytes()) {}
    [[nodiscard]] Outcome show() const { return run_program({places::kTool, "show", path}, {{"TZ", "UTC"}}); }

    TempFolder folder;
    std::string path;
};

/// The output of show, which must succeed.
std::string shown(const Dump& dump) {
    const Outcome outcome = dump.show();
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') <= 40);
    return outcome.out;
}

std::string error_of(const Dump& dump) {
    const Outcome outcome = dump.show();
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.out.empty());
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    return outcome.err;
}

}  // namespace

TEST_CASE("A file that is cut off, empty or not a dump is recognized as such, with what to try") {
    const std::string whole = usual_dump().bytes();
    const std::string cut = error_of(Dump(whole.substr(0, whole.size() - 100)));
    CHECK(contains(cut, "core_1_node7_42.nvcudmp is truncated: expected at least " +
                            std::to_string(whole.size()) + " bytes, got " +
                            std::to_string(whole.size() - 100)));
    CHECK(contains(cut, "Check whether the disk is full"));
    CHECK(contains(error_of(Dump("")), "is empty"));
    CHECK(contains(error_of(Dump("\x7f"
                                 "EL")),
                   "is truncated"));
    CHECK(contains(error_of(Dump("a page of text\n")), "is not an ELF file"));
    CHECK(contains(error_of(Dump(module_image({{"k"}}), "k.cubin")), "is a cubin, not a GPU core dump"));
    CHECK(contains(error_of(Dump(ElfWriter(4, 62).bytes(), "core")), "Open it with gdb"));
    const Outcome missing = run_program({places::kTool, "show", "/no/such/core.nvcudmp"});
    CHECK(missing.exit_code == 1);
    CHECK(contains(missing.err, "no such file"));
}

TEST_CASE("The accesses of the faulting threads are shown, as far as their registers exist") {
    DumpWriter writer = usual_dump();
    WrittenFunction kernel{"mul", 0x200, kMulAddress, true};
    kernel.code = std::string(0x10, '\0') + Packed().u64(0x0000100606087981).u64(0x002f68000c1f5900).bytes();
    writer.devices[0].contexts[0].modules[1].image = module_image({{"add", 0x200, kAddAddress}, kernel});
    CHECK(contains(shown(Dump(writer)),
                   "\naccess    read of 4 bytes; the address registers were overwritten\n"));
    for (DumpLane& lane : writer.devices[0].sms[1].blocks[0].warps[1].lanes)
        lane.registers = {0, 0, 0, 0, 0, 0, 0x100 * lane.id, 0x7f00, 0};
    CHECK(contains(shown(Dump(writer)), "\naccess    read of 4 bytes at 0x7f0000000010 to 0x7f0000000310\n"));
    CHECK_FALSE(contains(shown(Dump(usual_dump())), "access"));
}

TEST_CASE("A dump is recognized by its contents, whatever its name") {
    CHECK(contains(shown(Dump(usual_dump().bytes(), "flight.ring")), "illegal address"));
}

TEST_CASE("The usual dump shows exception, kernel, block, threads and line") {
    const Dump dump(usual_dump());
    CHECK(shown(dump) == "dump      " + dump.path +
                             "\n"
                             "written   2026-09-21 14:13:20, driver 580.159, CUDA 13.0\n"
                             "exception illegal address (14): a thread read or wrote an unmapped address\n"
                             "driver    the driver's words\n"
                             "device    0 NVIDIA H200 (sm_90), SM 9, warp 1\n"
                             "kernel    mul, grid [40, 1, 1] of blocks [128, 1, 1], launch 7 of its context\n"
                             "at        0x7f4900004010, byte 0x10 of mul\n"
                             "line      /src/kernel.py:41\n"
                             "block     [9, 0, 0]\n"
                             "threads   [32, 0, 0] and [33, 0, 0], 2 in one warp\n"
                             "\n"
                             "modules   2, 2 images of " +
                             std::to_string(usual_dump().devices[0].contexts[0].modules[0].image.size() +
                                            usual_dump().devices[0].contexts[0].modules[1].image.size()) +
                             " bytes\n"
                             "          0xabc holds mul\n");
}

TEST_CASE("A fault in inlined code is reported with the line of the call") {
    DumpWriter writer = usual_dump();
    writer.devices[0].sms[1].blocks[0].warps[1].error_pc = kMulAddress + 0x40;
    const std::string text = shown(Dump(writer));
    CHECK(contains(text,
                   "line      /src/kernel.py:9, in _Z6inlinei, inlined at\n"
                   "          /src/kernel.py:40\n"));
}

TEST_CASE("Facts that a dump lacks are shown as missing") {
    DumpWriter writer = usual_dump();
    DumpWarp& warp = writer.devices[0].sms[1].blocks[0].warps[1];
    SECTION("threads, line, driver") {
        warp.lanes.clear();
        writer.has_meta = false;
        writer.devices[0].contexts[0].modules[1].image =
            module_image({{"mul", 0x200, kMulAddress}}, true, false);
        const std::string text = shown(Dump(writer));
        CHECK(contains(text, "written   unknown: drivers before 565"));
        CHECK(contains(text, "threads   unknown: the dump has none"));
        CHECK(contains(text, "line      unknown: its module has no line table. Compile it with -lineinfo"));
    }
    SECTION("error PC") {
        warp.error_pc.reset();
        CHECK(
            contains(shown(Dump(writer)), "a thread stopped here, possibly after the faulting instruction"));
    }
    SECTION("which of the threads") {
        for (DumpLane& lane : warp.lanes)
            lane.exception = 0;
        CHECK(contains(shown(Dump(writer)), "at least one of them, but the dump does not say which"));
    }
    SECTION("images") {
        writer.devices[0].contexts[0].modules[1].image.clear();
        const std::string text = shown(Dump(writer));
        CHECK(contains(text, "kernel    unknown: no image in the dump has it, entry 0x7f4900004000, grid"));
        CHECK(contains(text, "0x10 bytes after the kernel's entry; no image in the dump has this address"));
    }
    SECTION("the warp") {
        writer.devices[0].sms[1].blocks.clear();
        const std::string text = shown(Dump(writer));
        CHECK(contains(text, "kernel    unknown; the warp exited before the dump was written"));
        CHECK(contains(text, "byte 0x10 of mul"));
    }
    SECTION("everything") {
        writer.devices[0].sms.clear();
        CHECK(contains(shown(Dump(writer)), "exception none, and no running kernel"));
    }
}

TEST_CASE("A fault of many warps is one entry, one in many places a few, and all of it fits a screen") {
    DumpWriter writer = usual_dump();
    std::vector<DumpBlock>& blocks = writer.devices[0].sms[1].blocks;
    for (std::uint32_t i = 0; i < 40; ++i) {
        blocks.push_back(blocks[0]);
        blocks.back().index = {i, 0, 0};
    }
    CHECK(contains(shown(Dump(writer)),
                   "blocks    [9, 0, 0] [0, 0, 0] [1, 0, 0] [2, 0, 0] [3, 0, 0] "
                   "[4, 0, 0] ...; 41 warps"));
    for (std::uint32_t i = 0; i < 40; ++i)
        blocks[i].warps[1].error_pc = kMulAddress + 16 * (i % 20);
    CHECK(contains(shown(Dump(writer)), "and at 17 other places"));
}

TEST_CASE("Names and paths in a dump cannot control a terminal") {
    DumpWriter writer = usual_dump();
    writer.devices[0].name = "\x1b[31m";
    writer.devices[0].sms[1].text = "\x07\x1b]0;x";
    writer.devices[0].contexts[0].modules[1].image = module_image({{"mul\x1b[2J", 0x200, kMulAddress}});
    const std::string text = shown(Dump(writer));
    CHECK_FALSE(contains(text, "\x1b"));
    CHECK_FALSE(contains(text, "\x07"));
    CHECK(contains(text, "mul?[2J"));
}

TEST_CASE("A partly damaged dump is shown with a note about what is left out") {
    DumpWriter writer = usual_dump();
    writer.finish = [](ElfWriter& file) { file.section(file.find(kLanesType)).link = 1; };
    CHECK(contains(shown(Dump(writer)),
                   "damaged   .cudbg.lntbl.dev0.sm1.cta0.wp0: belongs to an entry that is missing"));
}

}  // namespace aoti_dbg::test::cli_show_gpu_dump_test

// Feeds damaged GPU core dumps, cubins and line tables to their readers, and the results to the page of
// `aoti-dbg show`, with fixed random numbers. Meant for the sanitizer builds; other builds still check what
// must hold for any result.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "binary/line_table.hpp"
#include "cli/show/gpu_dump_text.hpp"
#include "gpu_dump/gpu_faults.hpp"
#include "gpu_dump/gpu_running.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gpu_dump_writer.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::gpu_dump_fuzz_test {
namespace {

using namespace test;

constexpr int kRounds = 10000;

/// A copy of exactly the size, so that a sanitizer sees any read beyond it.
class Exact {
  public:
    explicit Exact(const std::string& text) : bytes_(text.begin(), text.end()) {}
    [[nodiscard]] elf::Bytes bytes() const { return std::as_bytes(std::span(bytes_)); }
    [[nodiscard]] bool holds(const void* begin, std::size_t size) const {
        const auto* const first = static_cast<const char*>(begin);
        return size == 0 || (first >= bytes_.data() && first + size <= bytes_.data() + bytes_.size());
    }

  private:
    std::vector<char> bytes_;
};

bool is_harmless(const std::string& text) {
    return std::none_of(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) < 0x20U && c != '\n') || c == 0x7f;
    });
}

/// Returns whether it was read and has a fault.
bool check_dump(const std::string& text) {
    const Exact file(text);
    const Result<gpu::GpuDump> read = gpu::read_gpu_dump(file.bytes());
    if (!read.ok()) {
        REQUIRE_FALSE(read.status().message().empty());
        REQUIRE(read.status().message().size() < 300);
        return false;
    }
    const gpu::GpuDump& dump = read.value();
    const std::size_t entries = dump.devices.size() + dump.contexts.size() + dump.modules.size() +
                                dump.grids.size() + dump.sms.size() + dump.blocks.size() + dump.warps.size() +
                                dump.lanes.size();
    REQUIRE(entries <= text.size() / 8);
    REQUIRE(dump.notes.size() <= 9);
    for (const gpu::Module& module : dump.modules)
        REQUIRE(file.holds(module.image.data(), module.image.size()));
    for (const gpu::Grid& grid : dump.grids)
        REQUIRE(file.holds(grid.parameters.data(), grid.parameters.size()));
    for (const gpu::Warp& warp : dump.warps) {
        REQUIRE(warp.block < dump.blocks.size());
        REQUIRE((warp.lanes == 0 || warp.first_lane + warp.lanes <= dump.lanes.size()));
    }
    const gpu::CodeMap code(dump);
    const std::vector<gpu::Fault> faults = gpu::faults(dump, code);
    REQUIRE(faults.size() <= dump.warps.size() + dump.sms.size());
    for (const gpu::Fault& fault : faults) {
        REQUIRE(fault.sm < dump.sms.size());
        REQUIRE(file.holds(fault.kernel.data(), fault.kernel.size()));
        REQUIRE((fault.pc.has_value()) == (fault.pc_kind != gpu::PcKind::none));
        REQUIRE(fault.threads.empty() == (fault.threads_kind == gpu::ThreadsKind::none));
        if (fault.place) REQUIRE(fault.place->module < dump.modules.size());
    }
    const std::vector<gpu::Running> running = gpu::running(dump, code);
    REQUIRE(running.size() <= dump.grids.size());
    for (const gpu::Running& one : running) {
        REQUIRE(one.at.grid < dump.grids.size());
        REQUIRE(one.warps_there <= one.warps);
        REQUIRE(one.blocks <= one.warps);
        REQUIRE(file.holds(one.at.kernel.data(), one.at.kernel.size()));
    }
    const std::string page = cli::gpu_dump_text(dump);
    REQUIRE(is_harmless(page));
    REQUIRE(std::count(page.begin(), page.end(), '\n') < 60);
    return !faults.empty();
}

/// Returns whether a line was found.
bool check_cubin(const std::string& text) {
    const Exact file(text);
    const Result<elf::File> opened = elf::File::open(file.bytes());
    if (!opened.ok()) return false;
    for (std::size_t i = 0; i < opened.value().sections(); ++i) {
        const elf::Section section = opened.value().section(i);
        REQUIRE(file.holds(section.content.data(), section.content.size()));
    }
    const Result<LineTable> table = LineTable::open(opened.value());
    if (!table.ok()) return false;
    bool is_found = false;
    for (std::size_t section = 0; section <= opened.value().sections(); ++section) {
        for (const std::uint64_t offset : {0U, 16U, 40U, 0x1f0U}) {
            const std::vector<SourceLine> lines = table.value().find(section, offset);
            REQUIRE(lines.size() <= 32);
            is_found = is_found || !lines.empty();
        }
    }
    return is_found;
}

void damage(std::string& text, const std::string& other, Random& random) {
    if (text.empty()) text = other;
    // Half of the changes hit the table of sections, which is at the end.
    const std::size_t headers = std::min<std::size_t>(text.size(), 64 * 24);
    const std::size_t place =
        random.one_in(2) ? random.below(text.size()) : text.size() - 1 - random.below(headers);
    switch (random.below(6)) {
        case 0:
            text[place] = static_cast<char>(random.below(256));
            break;
        case 1:
            text[place] = static_cast<char>(text[place] ^ (1 << random.below(8)));
            break;
        case 2: {
            // Wrong offsets and lengths are what leads out of a file.
            const std::uint64_t number =
                random.one_in(2) ? ~std::uint64_t{0} >> random.below(64) : random.below(text.size() + 64);
            const std::size_t bytes = std::size_t{1} << random.below(4);
            std::memcpy(text.data() + place, &number, std::min(bytes, text.size() - place));
            break;
        }
        case 3:
            if (random.one_in(8)) text.resize(place + 1);
            break;
        case 4:
            if (random.one_in(8)) text.erase(place, 1 + random.below(100));
            break;
        default: {
            // A piece from elsewhere, of the same file or another.
            const std::string piece = other.substr(random.below(other.size()) / 8 * 8, 8 * random.below(9));
            const std::size_t there = place / 8 * 8;
            text.replace(there, std::min(piece.size(), text.size() - there), piece);
        }
    }
    if (text.size() > 32768) text.resize(32768);
}

std::vector<std::string> whole_dumps() {
    DumpWriter usual = usual_dump();
    DumpWriter two = usual_dump();
    two.devices.push_back(two.devices[0]);
    two.counts_in_first_section = true;
    DumpWriter no_lanes = usual_dump();
    no_lanes.devices[0].sms[1].blocks.clear();
    DumpWriter registers = usual_dump();
    WrittenFunction kernel{"mul", 0x200, kMulAddress, true};
    kernel.code = std::string(0x10, '\0') + Packed().u64(0x00000004040b9981).u64(0x000ea2000c1e1900).bytes();
    registers.devices[0].contexts[0].modules[1].image =
        module_image({{"add", 0x200, kAddAddress, true}, kernel});
    DumpWarp& warp = registers.devices[0].sms[1].blocks[0].warps[1];
    warp.uniform_registers.assign(63, 7);
    for (DumpLane& lane : warp.lanes) {
        lane.registers.assign(16, 0x7f00);
        lane.predicates = {1, 0, 0, 0, 0, 0, 0, 1};
    }
    return {usual.bytes(), two.bytes(), no_lanes.bytes(), registers.bytes()};
}

/// Names in the form of DWARF 5, in all the forms that an entry can have.
std::string dwarf_5_cubin() {
    Packed head;
    head.u8(1).u8(1).u8(1).u8(0xfb).u8(14).u8(10);
    for (const int operands : {0, 1, 1, 1, 1, 0, 0, 0, 1})
        head.u8(static_cast<std::uint64_t>(operands));
    head.u8(1).uleb(1).uleb(0x1f).uleb(2).u32(0).u32(5);
    head.u8(5).uleb(1).uleb(0x08).uleb(2).uleb(0x0b).uleb(5).uleb(0x1e).uleb(4).uleb(0x0f).uleb(3).uleb(9);
    head.uleb(2);
    for (int i = 0; i < 2; ++i)
        head.text("k.py").u8(1).u64(0).u64(0).uleb(300).uleb(3).raw("abc");
    Packed unit;
    unit.u16(5).u8(8).u8(0).u32(head.bytes().size()).raw(head.bytes());
    unit.raw(std::string("\3\x04\1\2\x20\0\1\1", 8));
    ElfWriter writer(2, 190);
    writer.add({".text.k", 1, std::string(0x100, '\0'), 6});
    writer.add({".debug_line", 1, Packed().u32(unit.bytes().size()).raw(unit.bytes()).bytes()});
    writer.add({".debug_line_str", 1, std::string("/src\0sub\0", 9)});
    return writer.bytes();
}

TEST_CASE("Damaged dumps are read without harm, and the results lie within them") {
    Random random;
    const std::vector<std::string> whole = whole_dumps();
    for (const std::string& dump : whole)
        REQUIRE(check_dump(dump));
    std::string dump;
    int with_fault = 0;
    for (int round = 0; round < kRounds; ++round) {
        if (round % 8 == 0) dump = whole[random.below(whole.size())];
        damage(dump, whole[random.below(whole.size())], random);
        if (check_dump(dump)) ++with_fault;
    }
    // Otherwise only the first steps would have been tested.
    CHECK(with_fault > kRounds / 20);
}

TEST_CASE("Damaged cubins and line tables are read without harm") {
    Random random;
    const std::vector<std::string> whole = {module_image({{"add"}, {"mul"}}, false),
                                            module_image({{"add", 0x200, 0x1000}}), dwarf_5_cubin()};
    for (const std::string& cubin : whole)
        REQUIRE(check_cubin(cubin));
    std::string cubin;
    int with_line = 0;
    for (int round = 0; round < kRounds; ++round) {
        if (round % 8 == 0) cubin = whole[random.below(whole.size())];
        damage(cubin, whole[random.below(whole.size())], random);
        if (check_cubin(cubin)) ++with_line;
    }
    CHECK(with_line > kRounds / 20);
}

TEST_CASE("Line programs of random bytes end") {
    Random random;
    const std::string whole = dwarf_5_cubin();
    const std::size_t unit = whole.find(std::string("\5\0\x08\0", 4));
    for (int round = 0; round < kRounds; ++round) {
        std::string cubin = whole;
        for (std::size_t i = 12 + random.below(40); i < 130; ++i)
            cubin[unit + i] = static_cast<char>(random.one_in(3) ? random.below(16) : random.below(256));
        check_cubin(cubin);
    }
}

TEST_CASE("Random bytes are read without harm") {
    Random random;
    const std::string header = whole_dumps()[0].substr(0, 64);
    for (int round = 0; round < 2000; ++round) {
        std::string file = header;
        for (std::size_t length = random.below(3000); length > 0; --length)
            file.push_back(static_cast<char>(random.below(256)));
        if (random.one_in(2)) file.replace(40, 8, Packed().u64(random.below(3000)).bytes());
        check_dump(file);
        check_cubin(file);
    }
}

}  // namespace
}  // namespace aoti_dbg::gpu_dump_fuzz_test

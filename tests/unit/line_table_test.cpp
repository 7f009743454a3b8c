// The reader of line tables: damaged tables, and hand-written ones as in dumps and cubins. Tables of real
// compilers are compared with readelf row by row, if both are installed.
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "binary/line_table.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/elf_writer.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::test::line_table_test {

namespace fs = std::filesystem;

namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// A file with its table.
struct Opened {
    explicit Opened(std::string text)
        : bytes(std::move(text)),
          file(elf::File::open(std::as_bytes(std::span(bytes)))),
          table(file.ok() ? LineTable::open(file.value()) : Result<LineTable>(file.status())) {}
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;

    /// "file:line", and after " < " the place where it was inlined.
    [[nodiscard]] std::string line(const std::string& section, std::uint64_t offset) const {
        REQUIRE(table.ok());
        std::string text;
        for (const SourceLine& line : table.value().find(file.value().find(section), offset)) {
            text += (text.empty() ? "" : " < ") + line.file + ":" + std::to_string(line.line);
            if (!line.function.empty()) text += " " + line.function;
        }
        return text;
    }

    std::string bytes;
    Result<elf::File> file;
    Result<LineTable> table;
};

constexpr std::uint64_t kAddAddress = 0x7f4900001000;
constexpr std::uint64_t kMulAddress = 0x7f4900004000;

std::vector<WrittenFunction> two_functions() {
    return {{"add", 0x200, kAddAddress}, {"mul", 0x100, kMulAddress}};
}

/// A cubin of one function whose table is `lines`.
std::string with_lines(const std::string& lines) {
    ElfWriter writer(2, 190);
    writer.add({".text.k", 1, std::string(0x100, '\0'), 6});
    writer.add({".debug_line", 1, lines});
    return writer.bytes();
}

/// A unit of DWARF 2 to 4 of one file, with a program.
std::string unit_of(const std::string& program, std::uint64_t version = 2, std::uint64_t line_range = 14,
                    std::uint64_t opcode_base = 10) {
    Packed head;
    head.u8(1);
    if (version >= 4) head.u8(1);
    head.u8(1).u8(0xfb).u8(line_range).u8(opcode_base);
    for (std::uint64_t i = 1; i < opcode_base; ++i)
        head.u8(i == 8 || i == 1 || i == 6 || i == 7 ? 0 : i == 12 ? 2 : 1);
    head.u8(0).text("k.py").uleb(0).uleb(0).uleb(0).u8(0);
    Packed unit;
    unit.u16(version).u32(head.bytes().size()).raw(head.bytes()).raw(program);
    return Packed().u32(unit.bytes().size()).raw(unit.bytes()).bytes();
}

const std::string kEnd("\0\1\1", 3);
const std::string kOneLine =
    std::string("\3\x04\1", 3) + std::string("\2\x10", 2) + kEnd;  // line 5, 16 bytes

using Row = std::string;  // "file line address", "end" instead of a line

std::string hexadecimal(std::uint64_t number) {
    std::ostringstream text;
    text << std::hex << number;
    return text.str();
}

std::vector<Row> our_rows(const std::string& path) {
    const Opened opened(read_text(path));
    std::vector<Row> rows;
    if (!opened.table.ok()) return rows;
    CHECK(opened.table.value().each_row([&rows](const LineRow& row, const std::string& file) {
        const std::string line = row.ends_sequence ? "end" : std::to_string(row.line);
        rows.push_back(fs::path(file).filename().string() + " " + line + " " + hexadecimal(row.place.offset));
    }));
    return rows;
}

/// The rows of `readelf --debug-dump=decodedline`: name, line or -, address, possibly a view, x or nothing.
std::vector<Row> rows_by_readelf(const std::string& path) {
    const Outcome outcome = run_program({"readelf", "--debug-dump=decodedline", "--wide", path});
    std::istringstream text(outcome.out);
    std::vector<Row> rows;
    for (std::string line; std::getline(text, line);) {
        std::istringstream words(line);
        const std::vector<std::string> word{std::istream_iterator<std::string>(words), {}};
        if (word.size() < 3 || word[2].find_first_not_of("0123456789abcdefx") != std::string::npos) continue;
        if (word[1] != "-" && word[1].find_first_not_of("0123456789") != std::string::npos) continue;
        std::string address = word[2].rfind("0x", 0) == 0 ? word[2].substr(2) : word[2];
        rows.push_back(fs::path(word[0]).filename().string() + " " + (word[1] == "-" ? "end" : word[1]) +
                       " " + address);
    }
    return rows;
}

bool is_there(const std::string& program) {
    return run_program({program, "--version"}).exit_code == 0;
}

/// Warns if a tool is missing, because the case then proves nothing.
bool are_there(const std::vector<std::string>& programs) {
    for (const std::string& program : programs) {
        if (is_there(program)) continue;
        WARN(program << " is not there");
        return false;
    }
    return true;
}

}  // namespace

TEST_CASE("Files without a line table and with a compressed one say what to do") {
    const Opened none(module_image(two_functions(), true, false));
    REQUIRE_FALSE(none.table.ok());
    CHECK(contains(none.table.status().message(), "Compile it with -lineinfo"));
    ElfWriter writer(1, 62);
    writer.add({".debug_line", 1, "compressed", 1U << 11U});
    const Opened compressed(writer.bytes());
    REQUIRE_FALSE(compressed.table.ok());
    CHECK(contains(compressed.table.status().message(), "--decompress-debug-sections"));
}

TEST_CASE("A damaged unit is skipped, and the later ones are read") {
    const std::string good = unit_of(kOneLine);
    const std::string bad = GENERATE_COPY(unit_of(kOneLine, 1), unit_of(kOneLine, 6), unit_of(kOneLine, 99),
                                          unit_of(kOneLine, 2, 0), unit_of(kOneLine, 2, 14, 0),
                                          std::string("\0\0\0\0", 4), std::string("\2\0\0\0\2\0", 6));
    const Opened opened(with_lines(bad + good));
    CHECK(opened.line(".text.k", 8) == "k.py:5");
    // A unit longer than the section is the last one, and its existing part is read.
    CHECK(Opened(with_lines(std::string("\xff\xff\xff\x7f", 4) + good.substr(4))).line(".text.k", 8) ==
          "k.py:5");
    CHECK(Opened(with_lines(std::string("\xff\xff\xff\xff\xff", 5))).line(".text.k", 8).empty());
}

TEST_CASE("Unknown opcodes are skipped by their lengths") {
    const std::string unknown_extended = std::string("\0\x05\xc7\1\2\3\4", 7);
    const std::string empty_extended = std::string("\0\0", 2);
    const std::string broken_address = std::string("\0\x0b\2\1\2\3\4\5\6\7\x08\x09\x0a", 13);  // of ten bytes
    const std::string unknown_standard = std::string("\x0c\x81\1\x82\2", 5);  // of two numbers
    const std::string program =
        unknown_extended + empty_extended + broken_address + unknown_standard + kOneLine;
    CHECK(Opened(with_lines(unit_of(program, 3, 14, 13))).line(".text.k", 8) == "k.py:5");
    // An opcode that extends beyond the unit ends it.
    const Opened cut(with_lines(unit_of(kOneLine + std::string("\0\x7f\x90", 3))));
    CHECK(cut.line(".text.k", 8) == "k.py:5");
    CHECK_FALSE(cut.table.value().each_row([](const LineRow&, const std::string&) {}));
}

TEST_CASE("Rows that claim to be inlined at themselves or at a later row end there") {
    const auto inlined_at = [](char row) {
        return std::string("\0\3\x90", 3) + row + std::string("\0", 1) + kOneLine;
    };
    for (const char row : {'\1', '\2', '\x7f'})
        CHECK(Opened(with_lines(unit_of(inlined_at(row)))).line(".text.k", 8) == "k.py:5");
}

TEST_CASE("Lines without a source, unlisted files and addresses without a row are reported as such") {
    const std::string line_0 = std::string("\3\x7f\1", 3) + std::string("\2\x10", 2) + kEnd;
    CHECK(Opened(with_lines(unit_of(line_0))).line(".text.k", 8).empty());
    CHECK(Opened(with_lines(unit_of(std::string("\4\x09", 2) + kOneLine))).line(".text.k", 8) == ":5");
    const Opened opened(with_lines(unit_of(kOneLine)));
    CHECK(opened.line(".text.k", 15) == "k.py:5");
    CHECK(opened.line(".text.k", 16).empty());
    CHECK(opened.line(".text.k", UINT64_MAX).empty());
    CHECK(opened.line(".no such", 0).empty());
}

TEST_CASE("A table of names with empty entries does not loop forever") {
    Packed head;
    head.u8(1).u8(1).u8(1).u8(0xfb).u8(14).u8(1);
    const std::string no_members = Packed().u8(0).uleb(UINT64_MAX).bytes();
    const std::string of_unknown_form = Packed().u8(1).uleb(1).uleb(0x7777).uleb(UINT64_MAX).bytes();
    const std::string empty_blocks = Packed().u8(1).uleb(3).uleb(9).uleb(UINT64_MAX).u8(0).bytes();
    const std::string names = GENERATE_COPY(no_members, of_unknown_form, empty_blocks);
    Packed unit;
    unit.u16(5).u8(8).u8(0).u32(head.bytes().size() + 2 * names.size()).raw(head.bytes()).raw(names + names);
    unit.raw("\x20").raw(kEnd);
    const std::string lines = Packed().u32(unit.bytes().size()).raw(unit.bytes()).bytes();
    CHECK(Opened(with_lines(lines)).line(".text.k", 0).find("k.py") == std::string::npos);
}

TEST_CASE("The image in a dump has addresses, a cubin has relocations; lines are found in both") {
    const bool relocated = GENERATE(true, false);
    CAPTURE(relocated);
    const Opened opened(module_image(two_functions(), relocated));
    for (const std::string section : {".text.add", ".text.mul"}) {
        CHECK(opened.line(section, 0) == "/src/kernel.py:40");
        CHECK(opened.line(section, 15) == "/src/kernel.py:40");
        CHECK(opened.line(section, 16) == "/src/kernel.py:41");
        CHECK(opened.line(section, 32) == "/src/kernel.py:9 _Z6inlinei < /src/kernel.py:40");
    }
    CHECK(opened.line(".text.mul", 0x100).empty());
}

TEST_CASE("Without relocations a cubin of one function has lines, and an ambiguous one of two has none") {
    const std::string lines = line_section({{"add"}}, false, nullptr);
    CHECK(Opened(with_lines(lines)).line(".text.k", 16) == "/src/kernel.py:41");
    ElfWriter placed(2, 190);
    placed.add({".text.add", 1, std::string(0x200, '\0'), 6, kAddAddress});
    placed.add({".debug_line", 1, lines});
    CHECK(Opened(placed.bytes()).line(".text.add", 16) == "/src/kernel.py:41");
    ElfWriter two(2, 190);
    two.add({".text.add", 1, std::string(0x200, '\0'), 6});
    two.add({".text.mul", 1, std::string(0x200, '\0'), 6});
    two.add({".debug_line", 1, line_section({{"add"}, {"mul"}}, false, nullptr)});
    CHECK(Opened(two.bytes()).line(".text.mul", 16).empty());
}

TEST_CASE("The tables of host compilers are read row by row as readelf reads them") {
    if (!are_there({"readelf"})) return;
    const TempFolder folder;
    const std::string source = folder.path() / "source.c";
    fs::create_directory(folder.path() / "inc");
    write_text(folder.path() / "inc" / "inner.h", "static inline int twice(int x) {\n    return x * 2;\n}\n");
    write_text(source,
               "#include \"inc/inner.h\"\n"
               "int first(int a) {\n    int b = twice(a);\n    return b + 1;\n}\n"
               "int second(int a) {\n    if (a > 3)\n        return first(a);\n    return twice(a) + 7;\n}\n"
               "int main(int n, char** v) {\n    return second(n) + (v == 0);\n}\n");
    int judged = 0;
    for (const std::string compiler : {"gcc", "clang"}) {
        if (!are_there({compiler})) continue;
        for (const std::string version : {"2", "3", "4", "5"}) {
            for (const bool linked : {false, true}) {
                if (linked && version != "5" && version != "2") continue;
                CAPTURE(compiler, version, linked);
                const std::string made = folder.path() / (compiler + version + (linked ? "" : ".o"));
                std::vector<std::string> command = {
                    compiler, "-gdwarf-" + version, "-O1", "-ffunction-sections", "-gz=none", "-o", made,
                    source};
                if (!linked) command.emplace_back("-c");
                const Outcome outcome = run_program(command);
                REQUIRE(outcome.exit_code == 0);
                const std::vector<Row> ours = our_rows(made);
                CHECK(ours.size() > 6);
                CHECK(ours == rows_by_readelf(made));
                if (linked) continue;
                const Opened opened(read_text(made));
                CHECK(opened.line(".text.first", 0).starts_with(source + ":"));
                CHECK(opened.line(".text.main", 0).starts_with(source + ":"));
                ++judged;
            }
        }
    }
    if (judged == 0) WARN("no compiler to judge");
}

TEST_CASE("The tables of nvcc are read row by row as readelf reads them, and inlining is followed") {
    if (!are_there({"nvcc", "readelf"})) return;
    const TempFolder folder;
    const std::string source = folder.path() / "k.cu";
    const std::string cubin = folder.path() / "k.cubin";
    write_text(source,
               "__device__ __forceinline__ float inner(const float* p, int i) {\n"
               "    return p[i] * 2.0f;\n"
               "}\n"
               "__device__ __forceinline__ float outer(const float* p, int i) {\n"
               "    return inner(p, i) + 1;\n"
               "}\n"
               "extern \"C\" __global__ void add(float* a, const float* b, int n) {\n"
               "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
               "    if (i < n)\n"
               "        a[i] = outer(b, i);\n"
               "}\n"
               "extern \"C\" __global__ void fill(float* a) {\n"
               "    a[threadIdx.x] = 3;\n"
               "}\n");
    const Outcome made = run_program({"nvcc", "-cubin", "-lineinfo", "-arch=sm_90", "-o", cubin, source});
    if (made.exit_code != 0) {
        WARN("nvcc does not compile: " << made.err);
        return;
    }
    CHECK(our_rows(cubin) == rows_by_readelf(cubin));
    const Opened opened(read_text(cubin));
    REQUIRE(opened.table.ok());
    const std::string of_inner =
        source + ":2 _Z5innerPKfi < " + source + ":5 _Z5outerPKfi < " + source + ":10";
    bool is_inlined = false;
    for (std::uint64_t offset = 0; offset < 0x400; offset += 16)
        is_inlined = is_inlined || opened.line(".text.add", offset) == of_inner;
    CHECK(is_inlined);
    CHECK(opened.line(".text.add", 0) == source + ":7");
    CHECK(opened.line(".text.fill", 0) == source + ":12");
}

}  // namespace aoti_dbg::test::line_table_test

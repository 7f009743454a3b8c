// The reader of ELF notes, on hand-written and damaged sections.
#include "binary/elf_note.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/elf_writer.hpp"

namespace aoti_dbg::test::elf_note_test {
namespace {

constexpr const char* kSection = ".note.aoti_dbg";

std::string note(const std::string& owner, const std::string& text) {
    Packed packed;
    packed.u32(owner.size() + 1).u32(text.size() + 1).u32(1);
    for (const std::string& part : {owner, text}) {
        packed.text(part);
        packed.resize((packed.bytes().size() + 3) / 4 * 4);
    }
    return packed.bytes();
}

/// The text that the reader finds in a file with these notes.
std::string read(const std::string& notes, const std::string& owner = "aoti-dbg") {
    ElfWriter writer(3, 62);
    writer.add({kSection, 7, notes});
    const std::string bytes = writer.bytes();
    const Result<elf::File> file = elf::File::open(std::as_bytes(std::span(bytes)));
    REQUIRE(file.ok());
    return std::string(elf::note_text(file.value(), kSection, owner).value_or("none"));
}

}  // namespace

TEST_CASE("A note is found by its owner, behind notes of others") {
    CHECK(read(note("aoti-dbg", "0.1.0")) == "0.1.0");
    CHECK(read(note("GNU", "abc") + note("stapsdt", "12345678") + note("aoti-dbg", "12.0.10")) == "12.0.10");
    CHECK(read(note("aoti-dbg", "")).empty());
    CHECK(read(note("GNU", "0.1.0")) == "none");
    CHECK(read(note("aoti-db", "0.1.0")) == "none");
}

TEST_CASE("A file without the section, or with an empty one, has no note") {
    const std::string bytes = ElfWriter(3, 62).bytes();
    const Result<elf::File> file = elf::File::open(std::as_bytes(std::span(bytes)));
    REQUIRE(file.ok());
    CHECK_FALSE(elf::note_text(file.value(), kSection, "aoti-dbg"));
    CHECK(read("") == "none");
}

TEST_CASE("A note that is cut anywhere is not read, and neither are impossible lengths") {
    const std::string whole = note("aoti-dbg", "0.1.0");
    // The last three bytes are padding.
    for (std::size_t length = 0; length + 2 < whole.size(); ++length) {
        CAPTURE(length);
        CHECK(read(whole.substr(0, length)) == "none");
    }
    for (const std::size_t place : {std::size_t{0}, std::size_t{4}}) {
        std::string damaged = whole;
        damaged.replace(place, 4, "\xff\xff\xff\xff");
        CHECK(read(damaged) == "none");
    }
}

}  // namespace aoti_dbg::test::elf_note_test

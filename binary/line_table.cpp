// See line_table.hpp. The start of a row sequence has one of three forms. It is a relocation against a
// function or its section (objects, cubins), or an address (programs, relocated images in dumps). It may also
// be absent, which suffices if only one section has code.
#include "binary/line_table.hpp"

#include <optional>

namespace aoti_dbg {
namespace {

/// Inlining nests, but not without limit.
constexpr std::size_t kDeepestInlining = 32;

std::size_t only_section_with_code(const elf::File& file) {
    std::size_t only = 0;
    for (std::size_t i = 1; i < file.sections(); ++i) {
        const elf::Section section = file.section(i);
        if ((section.flags & std::uint64_t{SHF_EXECINSTR}) == 0 || section.bytes == 0) continue;
        if (only != 0) return 0;
        only = i;
    }
    return only;
}

}  // namespace

Result<LineTable> LineTable::open(const elf::File& file) {
    const std::size_t lines = file.find(".debug_line");
    const elf::Section section = file.section(lines);
    if (lines == 0 || section.content.empty())
        return Status::error("has no line table. Compile it with -lineinfo or -g");
    if ((section.flags & std::uint64_t{SHF_COMPRESSED}) != 0) {
        return Status::error(
            "has a compressed line table. Decompress it with objcopy --decompress-debug-sections, or compile "
            "with -gz=none");
    }
    LineTable table(file);
    table.sections_.lines = section.content;
    table.sections_.line_strings = file.section(file.find(".debug_line_str")).content;
    table.sections_.strings = file.section(file.find(".debug_str")).content;
    table.sections_.relocations = elf::Relocations(file, lines);
    table.only_code_ = only_section_with_code(file);
    return table;
}

bool LineTable::holds(const LineRow& row, std::uint64_t end, std::size_t section,
                      std::uint64_t offset) const {
    const auto lies_in_row = [&row, end](std::uint64_t requested) {
        return requested >= row.place.offset && requested < end;
    };
    if (row.place.section != 0) return row.place.section == section && lies_in_row(offset);
    if (section == only_code_ && lies_in_row(offset)) return true;
    // Sections without addresses all start at 0, so a row does not identify its section.
    const elf::Section code = file_->section(section);
    const bool is_unambiguous = code.address != 0 || offset >= code.bytes;
    return is_unambiguous && lies_in_row(code.address + offset);
}

std::vector<SourceLine> LineTable::find(std::size_t section, std::uint64_t offset) const {
    std::size_t at = section == 0 ? sections_.lines.size() : 0;
    while (at < sections_.lines.size()) {
        const LineUnit unit = read_line_unit(sections_, at);
        std::optional<LineRow> found;
        LineRow previous;
        run_line_program(sections_, unit, unit.program, [&](const LineRow& row) {
            const bool goes_on = row.number > 1 && row.place.section == previous.place.section;
            if (goes_on && holds(previous, row.place.offset, section, offset)) found = previous;
            previous = row;
            return !found;
        });
        if (found) return frames(unit, *found);
        at = unit.end;
    }
    return {};
}

std::vector<SourceLine> LineTable::frames(const LineUnit& unit, LineRow row) const {
    std::vector<SourceLine> lines;
    while (lines.size() < kDeepestInlining) {
        SourceLine line;
        line.file = line_file_path(sections_, unit, row.file);
        line.line = row.line;
        const bool is_inlined = row.inlined_at != 0;
        if (is_inlined)
            line.function = elf::File::string_at(sections_.strings, row.function_name).value_or("");
        // Line 0 marks code that the compiler generated.
        if (row.line != 0) lines.push_back(std::move(line));
        if (!is_inlined || row.inlined_at >= row.number) break;
        const std::uint64_t call = row.inlined_at;
        run_line_program(sections_, unit, row.sequence, [&row, call](const LineRow& candidate) {
            if (candidate.number == call) row = candidate;
            return candidate.number < call;
        });
        if (row.number != call) break;
    }
    return lines;
}

std::vector<LineSpan> LineTable::spans(std::uint64_t begin, std::uint64_t end) const {
    std::vector<LineSpan> found;
    std::size_t at = 0;
    while (at < sections_.lines.size()) {
        const LineUnit unit = read_line_unit(sections_, at);
        LineRow previous;
        run_line_program(sections_, unit, unit.program, [&](const LineRow& row) {
            const std::uint64_t low = previous.place.offset;
            const std::uint64_t high = row.place.offset;
            if (row.number > 1 && low < high && low < end && high > begin)
                found.push_back({low, high, at, previous.file, previous.line});
            previous = row;
            return true;
        });
        at = unit.end;
    }
    return found;
}

std::string LineTable::path(std::size_t unit, std::uint64_t file) const {
    if (unit >= sections_.lines.size()) return {};
    return line_file_path(sections_, read_line_unit(sections_, unit), file);
}

bool LineTable::each_row(const std::function<void(const LineRow&, const std::string& path)>& visitor) const {
    bool is_sound = true;
    std::size_t at = 0;
    while (at < sections_.lines.size()) {
        const LineUnit unit = read_line_unit(sections_, at);
        is_sound = run_line_program(sections_, unit, unit.program,
                                    [&](const LineRow& row) {
                                        visitor(row, line_file_path(sections_, unit, row.file));
                                        return true;
                                    }) &&
                   is_sound;
        at = unit.end;
    }
    return is_sound;
}

}  // namespace aoti_dbg

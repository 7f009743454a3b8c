// See line_program.hpp and DWARF 5, section 6.2.5. NVIDIA's compilers add two opcodes for inlined rows. They
// give the inlined function and the row of the call in the same sequence.
#include "binary/line_program.hpp"

#include "binary/byte_cursor.hpp"

namespace aoti_dbg {
namespace {

enum Opcode : std::uint8_t {
    kExtended = 0,
    kCopy = 1,
    kAdvancePc = 2,
    kAdvanceLine = 3,
    kSetFile = 4,
    kSetColumn = 5,
    kNegateStatement = 6,
    kSetBasicBlock = 7,
    kConstAddPc = 8,
    kFixedAdvancePc = 9,
};

enum ExtendedOpcode : std::uint8_t {
    kEndSequence = 1,
    kSetAddress = 2,
    kInlinedCall = 0x90,
    kSetFunctionName = 0x91,
};

class Machine {
  public:
    Machine(const LineSections& sections, const LineUnit& unit, std::size_t from, const LineVisitor& visitor)
        : sections_(sections), unit_(unit), cursor_(sections.lines.first(unit.end), from), visitor_(visitor) {
        row_.sequence = from;
    }

    bool run() {
        while (cursor_.left() != 0 && !is_stopped_) {
            const auto opcode = cursor_.number<std::uint8_t>();
            if (opcode >= unit_.opcode_base) {
                special(opcode);
            } else if (opcode == kExtended) {
                extended();
            } else {
                standard(opcode);
            }
        }
        return !cursor_.has_failed();
    }

  private:
    void special(std::uint8_t opcode) {
        const unsigned adjusted = static_cast<unsigned>(opcode) - unit_.opcode_base;
        advance(adjusted / unit_.line_range);
        row_.line += static_cast<std::uint64_t>(std::int64_t{unit_.line_base} + adjusted % unit_.line_range);
        emit();
    }

    void standard(std::uint8_t opcode) {
        switch (opcode) {
            case kCopy:
                emit();
                break;
            case kAdvancePc:
                advance(cursor_.uleb());
                break;
            case kAdvanceLine:
                row_.line += static_cast<std::uint64_t>(cursor_.sleb());
                break;
            case kSetFile:
                row_.file = cursor_.uleb();
                break;
            case kNegateStatement:
            case kSetBasicBlock:
                break;
            case kConstAddPc:
                advance((255U - unit_.opcode_base) / unit_.line_range);
                break;
            case kFixedAdvancePc:
                row_.place.offset += cursor_.number<std::uint16_t>();
                operation_ = 0;
                break;
            default:
                for (auto i = std::to_integer<unsigned>(unit_.operands[opcode - 1U]); i > 0; --i)
                    cursor_.uleb();
        }
    }

    void extended() {
        const std::uint64_t bytes = cursor_.uleb();
        const std::size_t begin = cursor_.position();
        if (bytes == 0) return;
        if (cursor_.left() < bytes) {
            cursor_.skip(bytes);
            return;
        }
        const std::size_t end = begin + bytes;
        // The length gives the next opcode, whatever this one contains.
        ByteCursor inner(sections_.lines.first(end), begin);
        cursor_.skip(bytes);
        switch (inner.number<std::uint8_t>()) {
            case kEndSequence:
                row_.ends_sequence = true;
                emit();
                begin_sequence();
                break;
            case kSetAddress: {
                const std::size_t at = inner.position();
                const std::uint64_t stored = inner.number_of(inner.left());
                if (inner.has_failed()) break;
                row_.place = sections_.relocations.place_at(at, stored);
                operation_ = 0;
                break;
            }
            case kInlinedCall: {
                const std::uint64_t call = inner.uleb();
                const std::uint64_t function = inner.uleb();
                if (inner.has_failed()) break;
                row_.inlined_at = call;
                row_.function_name = function;
                break;
            }
            case kSetFunctionName: {
                const std::uint64_t function = inner.uleb();
                if (!inner.has_failed()) row_.function_name = function;
                break;
            }
            default:
                break;
        }
    }

    void advance(std::uint64_t operations) {
        if (unit_.operations <= 1) {
            row_.place.offset += unit_.instruction_bytes * operations;
            return;
        }
        const std::uint64_t sum = operation_ + operations;
        row_.place.offset += unit_.instruction_bytes * (sum / unit_.operations);
        operation_ = sum % unit_.operations;
    }

    void emit() {
        ++row_.number;
        if (!visitor_(row_)) is_stopped_ = true;
    }

    void begin_sequence() {
        row_ = LineRow();
        row_.sequence = cursor_.position();
        operation_ = 0;
    }

    const LineSections& sections_;
    const LineUnit& unit_;
    ByteCursor cursor_;
    const LineVisitor& visitor_;
    LineRow row_;
    std::uint64_t operation_ = 0;  // within an instruction
    bool is_stopped_ = false;
};

}  // namespace

bool run_line_program(const LineSections& sections, const LineUnit& unit, std::size_t from,
                      const LineVisitor& visitor) {
    return unit.is_readable && Machine(sections, unit, from, visitor).run();
}

}  // namespace aoti_dbg

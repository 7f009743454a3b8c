// See pickle_writer.hpp.
#include "serializer/pickle_writer.hpp"

#include <limits>
#include <utility>

namespace aoti_dbg {
namespace {

// The usual size of a tensor's pickle.
constexpr std::size_t kUsualPickle = 256;

}  // namespace

PickleWriter::PickleWriter() {
    out_.reserve(kUsualPickle);
    op(PickleOp::proto);
    number(2, 1);
}

void PickleWriter::number(std::uint64_t value, std::size_t bytes) {
    for (; bytes > 0; --bytes, value >>= 8U)
        out_.push_back(static_cast<char>(value & 0xffU));
}

void PickleWriter::remember() {
    op(PickleOp::put1);
    number(remembered_++, 1);
}

void PickleWriter::remembered(PickleOp opcode) {
    op(opcode);
    remember();
}

void PickleWriter::global(std::string_view module, std::string_view name) {
    op(PickleOp::global);
    out_.append(module).push_back('\n');
    out_.append(name).push_back('\n');
    remember();
}

void PickleWriter::text(std::string_view utf8) {
    op(PickleOp::unicode);
    number(utf8.size(), 4);
    out_.append(utf8);
    remember();
}

void PickleWriter::integer(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    if (value >= 0 && value <= std::numeric_limits<std::uint8_t>::max()) {
        op(PickleOp::int1);
        number(bits, 1);
    } else if (value >= 0 && value <= std::numeric_limits<std::uint16_t>::max()) {
        op(PickleOp::int2);
        number(bits, 2);
    } else if (std::in_range<std::int32_t>(value)) {
        op(PickleOp::int4);
        number(bits, 4);
    } else {
        // Use the fewest bytes whose highest bit is the sign.
        std::size_t bytes = 5;
        while (bytes < 8 && (value >> (8 * bytes - 1)) != (value < 0 ? -1 : 0))
            ++bytes;
        op(PickleOp::long1);
        number(bytes, 1);
        number(bits, bytes);
    }
}

void PickleWriter::integers(std::span<const std::int64_t> values) {
    static constexpr PickleOp kShort[] = {PickleOp::empty_tuple, PickleOp::tuple1, PickleOp::tuple2,
                                          PickleOp::tuple3};
    if (values.size() > 3) op(PickleOp::mark);
    for (const std::int64_t value : values)
        integer(value);
    if (values.empty()) {
        op(PickleOp::empty_tuple);
    } else {
        remembered(values.size() > 3 ? PickleOp::tuple : kShort[values.size()]);
    }
}

std::string PickleWriter::finish() {
    op(PickleOp::stop);
    return std::move(out_);
}

}  // namespace aoti_dbg

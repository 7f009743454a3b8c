// Writes what torch.save() pickles, as Python's pickler of protocol 2 does, byte for byte: what could be
// referred to again is remembered, though nothing ever is. Knows nothing of tensors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "serializer/pickle_opcodes.hpp"

namespace aoti_dbg {

class PickleWriter {
  public:
    PickleWriter();

    void op(PickleOp op) { out_.push_back(static_cast<char>(op)); }
    void global(std::string_view module, std::string_view name);
    void text(std::string_view utf8);
    void integer(std::int64_t value);
    void integers(std::span<const std::int64_t> values);
    /// `op` makes a tuple or calls something.
    void remembered(PickleOp op);
    /// What was written. Nothing may follow.
    std::string finish();

  private:
    void number(std::uint64_t value, std::size_t bytes);
    void remember();

    std::string out_;
    std::uint8_t remembered_ = 0;  // a tensor needs a dozen
};

}  // namespace aoti_dbg

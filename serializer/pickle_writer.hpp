// Writes what torch.save() pickles, byte for byte as Python's protocol 2 pickler does. It remembers objects
// as Python does, although nothing refers to them. It must know nothing of tensors.
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
    /// `op` must create a tuple or call something.
    void remembered(PickleOp op);
    /// Returns the pickle. Write nothing afterwards.
    std::string finish();

  private:
    void number(std::uint64_t value, std::size_t bytes);
    void remember();

    std::string out_;
    std::uint8_t remembered_ = 0;  // a tensor needs a dozen
};

}  // namespace aoti_dbg

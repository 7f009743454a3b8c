// Reads a pickle in the subset that torch.save() writes. It describes what Python would build, and must not
// call or look up anything. It accepts any bytes, with memory and time proportional to them. It must know
// nothing of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "serializer/pickle_opcodes.hpp"

namespace aoti_dbg {

/// Its texts point into the pickle's bytes.
struct PickleValue {
    enum class Kind : std::uint8_t {
        none,
        boolean,     // number: 0 or 1
        integer,     // number
        real,        // its value is not kept, because tensors do not use it
        text,        // text
        global,      // module, text: its name
        tuple,       // items
        list,        // number: item count; the items are not kept
        dict,        // number: entry count; items: key, value, ... of the entries added in one step
        object,      // items: the callable and its argument tuple
        persistent,  // items: its id
    };
    Kind kind = Kind::none;
    std::int64_t number = 0;
    std::string_view text;
    std::string_view module;
    std::uint32_t first_item = 0;
    std::uint32_t items = 0;

    [[nodiscard]] bool is(Kind other) const { return kind == other; }
    [[nodiscard]] bool is_global(std::string_view of_module, std::string_view name) const {
        return kind == Kind::global && module == of_module && text == name;
    }
};

class Pickle {
  public:
    /// Larger pickles are refused: a tensor's has a few hundred bytes, and each byte may become a 56-byte
    /// value.
    static constexpr std::size_t kLargest = 64U << 10U;

    /// `bytes` must outlive the pickle.
    static Result<Pickle> read(std::string_view bytes);

    [[nodiscard]] const PickleValue& result() const { return values_[result_]; }
    /// `number` must be less than `of.items`.
    [[nodiscard]] const PickleValue& item(const PickleValue& of, std::uint32_t number) const {
        return values_[items_[of.first_item + number]];
    }

  private:
    friend class PickleMachine;
    std::vector<PickleValue> values_;
    std::vector<std::uint32_t> items_;  // indices into values_
    std::uint32_t result_ = 0;
};

}  // namespace aoti_dbg

// Reads a pickle as far as torch.save() makes them: what Python would build is described, and nothing is
// called or looked up. Takes any bytes; memory and time are in proportion to them. Knows nothing of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "serializer/pickle_opcodes.hpp"

namespace aoti_dbg {

/// Texts are the pickle's own bytes.
struct PickleValue {
    enum class Kind : std::uint8_t {
        none,
        boolean,     // number: 0 or 1
        integer,     // number
        real,        // of no concern to a tensor, so its value is not kept
        text,        // text
        global,      // module, text: its name
        tuple,       // items
        list,        // number: how many it has, which are not kept
        dict,        // number: how many entries it has; items: key, value, ... of those it got at once
        object,      // items: what was called, and the tuple of its arguments
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
    /// Larger ones are refused: a tensor's has a few hundred bytes, and each may become a value of 56.
    static constexpr std::size_t kLargest = 64U << 10U;

    /// `bytes` outlive the pickle.
    static Result<Pickle> read(std::string_view bytes);

    [[nodiscard]] const PickleValue& result() const { return values_[result_]; }
    /// `number` is less than `of.items`.
    [[nodiscard]] const PickleValue& item(const PickleValue& of, std::uint32_t number) const {
        return values_[items_[of.first_item + number]];
    }

  private:
    friend class PickleMachine;
    std::vector<PickleValue> values_;
    std::vector<std::uint32_t> items_;  // numbers of values
    std::uint32_t result_ = 0;
};

}  // namespace aoti_dbg

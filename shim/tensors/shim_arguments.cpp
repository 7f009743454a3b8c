// The arguments of shim functions, by the letters of shim_table.inc. Ops behind the proxy executor pass their
// tensors and integers in two lists.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "shim/tensors/arguments.hpp"

namespace aoti_dbg {
namespace {

std::optional<ShortText> declared_text(const Argument& written) {
    if (written.kind == ArgumentKind::string) return ShortText::quoted(written.value);
    if (written.value.empty()) return std::nullopt;
    if (written.kind == ArgumentKind::scalar) return ShortText(written.value);
    if (written.kind == ArgumentKind::scalar_list) return ShortText("[" + written.value + "]");
    return std::nullopt;
}

/// Appends the scalars of an op behind the proxy executor, whose integers are all in one list. The executor
/// reads the arguments that it does not receive from the JSON file beside the model, and so does the library.
void passed_integers(const SitePlan* op, const std::int64_t* values, std::size_t last_integer,
                     PlainList<CallArgument>& found) {
    if (op == nullptr) return;
    const std::size_t count = values == nullptr ? 0 : last_integer;
    std::size_t expected = 0;
    for (std::size_t i = 0; i < op->by_position.size(); ++i)
        expected += op->at(i) == nullptr ? 0 : op->at(i)->written->integers;
    const std::int64_t* next = count == expected ? values : nullptr;
    for (std::size_t i = 0; i < op->by_position.size(); ++i) {
        const PlannedArgument* planned = op->at(i);
        if (planned == nullptr) continue;
        const Argument& written = *planned->written;
        const std::int64_t* const own = next;
        if (next != nullptr) next += written.integers;
        if (planned->label.empty() || !written.tensors.empty()) continue;
        if (written.integers != 0 && own != nullptr) {
            const bool is_list = written.kind == ArgumentKind::scalar_list;
            found.push_back(CallArgument::of_scalar(
                *planned, is_list ? ScalarValue(ShortText::list(own, written.integers)) : ScalarValue(*own)));
        } else if (const std::optional<ShortText> text = declared_text(written)) {
            found.push_back(CallArgument::of_scalar(*planned, *text));
        }
    }
}

/// Fills in the tensors of an op behind the proxy executor, in the order of its list: created ones last.
void operands_of(const SitePlan* op, std::vector<const PlannedArgument*>& operands) {
    operands.clear();
    for (std::size_t i = 0; op != nullptr && i < op->by_position.size(); ++i) {
        for (const PlannedArgument* operand : op->by_position[i]) {
            if (!operand->written->tensors.empty()) operands.push_back(operand);
        }
    }
}

/// Describes the arguments of a frame by their positions.
struct Labels {
    const SitePlan* plan;

    /// Returns null without a label.
    [[nodiscard]] const PlannedArgument* known(std::size_t at, std::size_t element = 0) const {
        const PlannedArgument* planned = plan == nullptr ? nullptr : plan->at(at, element);
        return planned != nullptr && !planned->label.empty() ? planned : nullptr;
    }
    [[nodiscard]] const PlannedArgument& of(std::size_t at) const {
        const PlannedArgument* const planned = known(at);
        return planned != nullptr ? *planned : unknown_argument(at);
    }
    [[nodiscard]] const PlannedArgument& of(std::size_t at, std::size_t element) const {
        const PlannedArgument* const planned = known(at, element);
        return planned != nullptr ? *planned : unknown_argument(at, element);
    }
    [[nodiscard]] const PlannedArgument& of_scalar(std::size_t at, const ShimSignature& shim) const {
        const PlannedArgument* const planned = known(at);
        return planned != nullptr ? *planned : unknown_scalar(at, shim.name_of(at));
    }
};

class ShimReader {
  public:
    ShimReader(const ShimSignature& shim, const StubFrame& frame, const SitePlan* plan, bool after,
               PlainList<CallArgument>& found)
        : shim_(shim),
          letters_(shim.args),
          mutates_(shim.mutates),
          frame_(frame),
          labels_{plan != nullptr && plan->by_position.size() == letters_.size() ? plan : nullptr},
          op_(plan),
          after_(after),
          found_(found) {}

    void read() {
        for (at_ = 0; at_ < letters_.size(); ++at_)
            take(letters_[at_]);
    }

    void read_made() {
        for (at_ = 0; at_ < letters_.size(); ++at_)
            take_made(letters_[at_]);
    }

  private:
    using Handles = const TensorHandle*;

    void take(char letter) {
        switch (letter) {
            case 'i':
            case 'o':
                return tensor(frame_.pointer<TensorHandle>());
            case 'q':
                return optional(frame_.pointer<Handles>());
            case 'r':
                return returned(frame_.pointer<Handles>());
            case 'l':
                return list(frame_.pointer<Handles>());
            case 'L':
                return optionals(frame_.pointer<const Handles*>());
            case 't':
                return sized_list(frame_.pointer<Handles>());
            case 'd':
                return real(frame_.real());
            case 'f':
                return real(static_cast<double>(frame_.single()));
            case 'c':
                frame_.real();
                return;
            case 'C':
                frame_.real();
                frame_.real();
                return;
            case 'b':
                return scalar(
                    [value = frame_.integer()] { return std::int64_t{(value & 0xffU) != 0 ? 1 : 0}; });
            case 'w':
            case 'y':
            case 'z':
                return integer(signed_integer(letter));
            case 'u':
                return unsigned_integer(frame_.integer());
            case 'W':
                return optional(frame_.pointer<const std::int64_t*>());
            case 'Z':
                return optional(frame_.pointer<const std::int32_t*>());
            case 'D':
                return optional(frame_.pointer<const double*>());
            case 'A':
                return numbers(frame_.pointer<const std::int64_t*>());
            case 'B':
                return numbers(frame_.pointer<const std::int32_t*>());
            case 'a':
                return passed_integers(op_, frame_.pointer<const std::int64_t*>(), last_integer_, found_);
            case 's':
                return string(frame_.pointer<const char*>());
            case 'S':
                return optional_string(frame_.pointer<const char* const*>());
            default:
                frame_.integer();
                return;
        }
    }

    void take_made(char letter) {
        switch (letter) {
            case 'r':
                return returned(frame_.pointer<Handles>());
            case 't':
                return sized_list(frame_.pointer<Handles>());
            case 'w':
            case 'y':
            case 'z':
                return note_length(signed_integer(letter));
            case 'C':
                frame_.real();
                [[fallthrough]];
            case 'c':
            case 'd':
            case 'f':
                frame_.real();
                return;
            default:
                frame_.integer();
                return;
        }
    }

    std::int64_t signed_integer(char letter) {
        const std::uint64_t bits = frame_.integer();
        if (letter == 'z') return static_cast<std::int32_t>(bits);
        return static_cast<std::int64_t>(letter == 'y' ? bits & 0xffffffffU : bits);
    }

    void add(const PlannedArgument& facts, TensorHandle handle, bool only_after) {
        if (handle == nullptr) return;
        CallArgument& argument = found_.emplace_back();
        argument.facts = &facts;
        argument.handle = handle;
        argument.only_after = only_after;
        // No schema says what a custom op does with its inputs.
        const bool declared = at_ < mutates_.size() && letters_[at_] != 't';
        argument.may_write = !declared || mutates_[at_] == 'm' || letters_[at_] == 'o' || only_after;
    }

    void tensor(TensorHandle handle) { add(labels_.of(at_), handle, false); }

    void optional(Handles place) {
        if (place != nullptr) tensor(*place);
    }

    // Before the call the place is uninitialized.
    void returned(Handles place) {
        if (after_ && place != nullptr) add(labels_.of(at_), *place, true);
    }

    /// Consumes the length that follows a list, which is an argument of its own.
    std::size_t length() {
        const char next = at_ + 1 < letters_.size() ? letters_[at_ + 1] : ' ';
        if (next != 'n' && next != 'N') return 0;
        ++at_;
        const std::uint64_t length = frame_.integer();
        return next == 'N' ? length & 0xffffffffU : length;
    }

    void list(Handles handles) {
        const std::size_t position = at_;
        const std::size_t count = length();
        elements(position, handles == nullptr ? 0 : count, [handles](std::size_t i) { return handles[i]; });
    }

    void optionals(const Handles* places) {
        const std::size_t position = at_;
        const std::size_t count = length();
        elements(position, places == nullptr ? 0 : count,
                 [places](std::size_t i) { return places[i] == nullptr ? nullptr : *places[i]; });
    }

    /// Takes the list with all tensors of an op behind the proxy executor.
    void sized_list(Handles handles) {
        const std::size_t count = handles == nullptr ? 0 : last_integer_;
        operands_of(op_, operands_);
        const bool is_known = operands_.size() == count;
        for (std::size_t i = 0; i < count; ++i) {
            // Without declared operands, each tensor may be a created one.
            const Role role = is_known ? operands_[i]->role : Role::makes;
            add(is_known ? *operands_[i] : labels_.of(at_, i), handles[i],
                role == Role::makes || role == Role::writes);
        }
    }

    template <typename Element>
    void elements(std::size_t position, std::size_t count, Element element) {
        const std::size_t resume = at_;
        at_ = position;
        for (std::size_t i = 0; i < count; ++i)
            add(labels_.of(at_, i), element(i), false);
        at_ = resume;
    }

    /// Keeps the value as the length of a list that may follow.
    void note_length(std::int64_t value) { last_integer_ = value < 0 ? 0 : static_cast<std::size_t>(value); }

    void integer(std::int64_t value) {
        note_length(value);
        scalar([value] { return value; });
    }

    void unsigned_integer(std::uint64_t value) {
        scalar([value] { return value; });
    }

    void real(double value) {
        scalar([value] { return value; });
    }

    // The proxy executor receives tensors and their counts. The counts are not arguments of the op.
    [[nodiscard]] bool wants_scalars() const { return shim_.kind == ShimKind::op; }
    template <typename Value>
    void scalar(Value value) {
        if (wants_scalars()) found_.emplace_back().set_scalar(labels_.of_scalar(at_, shim_), value());
    }

    /// A pointer to an optional number, or to the place of a number that the op returns.
    template <typename Number>
    void optional(const Number* place) {
        if (place == nullptr || !wants_scalars()) return;
        const bool is_returned = shim_.name_of(at_).substr(0, 3) == "ret";
        if (is_returned && !after_) return;
        if constexpr (std::is_integral_v<Number>)
            scalar([place] { return std::int64_t{*place}; });
        else
            real(*place);
    }

    /// Appends a list only if the op receives its length.
    template <typename Number>
    void numbers(const Number* values) {
        const std::size_t position = at_;
        const std::size_t count = length();
        if (at_ == position || (values == nullptr && count != 0)) return;
        const std::size_t resume = std::exchange(at_, position);
        scalar([values, count] { return ShortText::list(values, count); });
        at_ = resume;
    }

    void string(const char* text) {
        if (!wants_scalars()) return;
        if (const std::optional<ShortText> read = ShortText::string_at(text))
            scalar([&read] { return *read; });
    }

    void optional_string(const char* const* place) {
        const std::size_t position = at_;
        length();
        const bool is_list = at_ != position;
        if (place != nullptr && !is_list) string(*place);
    }

    const ShimSignature& shim_;
    std::string_view letters_;
    std::string_view mutates_;
    FrameReader frame_;
    Labels labels_;
    const SitePlan* op_;  // may describe the arguments of an op behind the proxy executor
    bool after_;
    std::size_t at_ = 0;
    std::size_t last_integer_ = 0;
    std::vector<const PlannedArgument*> operands_;
    PlainList<CallArgument>& found_;
};

}  // namespace

void shim_arguments(const ShimSignature& shim, const StubFrame& frame, const SitePlan* plan, bool after,
                    PlainList<CallArgument>& found) {
    ShimReader(shim, frame, plan, after, found).read();
}

void created_arguments(const ShimSignature& shim, const StubFrame& frame, const SitePlan& plan,
                       PlainList<CallArgument>& found) {
    ShimReader(shim, frame, &plan, true, found).read_made();
}

}  // namespace aoti_dbg

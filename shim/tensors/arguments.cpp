#include "shim/tensors/arguments.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace aoti_dbg {
namespace {

bool is_symbol(std::string_view text) {
    const char first = text.empty() ? '0' : text.front();
    return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_';
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

CallArgument scalar_argument(const PlannedArgument& facts, const ShortText& text) {
    CallArgument argument;
    argument.kind = CallArgument::Kind::scalar;
    argument.facts = &facts;
    argument.text = text;
    return argument;
}

CallArgument pointer_argument(const PlannedArgument& facts, std::uint64_t address) {
    CallArgument argument;
    argument.kind = CallArgument::Kind::pointer;
    argument.facts = &facts;
    argument.may_write = !facts.only_reads();
    argument.address = address;
    return argument;
}

class ShimReader {
  public:
    ShimReader(const ShimSignature& shim, const StubFrame& frame, const SitePlan* plan, bool after,
               std::vector<CallArgument>& found)
        : shim_(shim),
          letters_(shim.args),
          frame_(frame),
          plan_(plan != nullptr && plan->by_position.size() == letters_.size() ? plan : nullptr),
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
                return truth((frame_.integer() & 0xffU) != 0);
            case 'w':
                return integer(static_cast<std::int64_t>(frame_.integer()));
            case 'u':
                return unsigned_integer(frame_.integer());
            case 'z':
                return integer(static_cast<std::int32_t>(frame_.integer()));
            case 'y':
                return integer(static_cast<std::int64_t>(frame_.integer() & 0xffffffffU));
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
                return passed_integers(frame_.pointer<const std::int64_t*>());
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
                return note_length(static_cast<std::int64_t>(frame_.integer()));
            case 'z':
                return note_length(static_cast<std::int32_t>(frame_.integer()));
            case 'y':
                return note_length(static_cast<std::int64_t>(frame_.integer() & 0xffffffffU));
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

    [[nodiscard]] const PlannedArgument& facts() const {
        const PlannedArgument* planned = plan_ == nullptr ? nullptr : plan_->at(at_);
        return planned != nullptr && !planned->label.empty() ? *planned : unknown_argument(at_);
    }

    [[nodiscard]] const PlannedArgument& facts_in_list(std::size_t element) const {
        const PlannedArgument* planned = plan_ == nullptr ? nullptr : plan_->at(at_, element);
        return planned != nullptr && !planned->label.empty() ? *planned : unknown_argument(at_, element);
    }

    void add(const PlannedArgument& facts, TensorHandle handle, bool only_after) {
        if (handle == nullptr) return;
        CallArgument& argument = found_.emplace_back();
        argument.facts = &facts;
        argument.handle = handle;
        argument.only_after = only_after;
        // No schema says what a custom op does with its inputs.
        const bool declared = at_ < shim_.mutates.size() && letters_[at_] != 't';
        argument.may_write = !declared || shim_.mutates[at_] == 'm' || letters_[at_] == 'o' || only_after;
    }

    void tensor(TensorHandle handle) { add(facts(), handle, false); }

    void optional(Handles place) {
        if (place != nullptr) tensor(*place);
    }

    // Before the call the place is uninitialized.
    void returned(Handles place) {
        if (after_ && place != nullptr) add(facts(), *place, true);
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

    /// Decodes the list with all integers of an op behind the proxy executor. The executor reads the
    /// arguments that it does not receive from the JSON file beside the model, and so does the library.
    void passed_integers(const std::int64_t* values) {
        const std::size_t count = values == nullptr ? 0 : last_integer_;
        std::size_t expected = 0;
        for (std::size_t i = 0; op_ != nullptr && i < op_->by_position.size(); ++i)
            expected += op_->at(i) == nullptr ? 0 : op_->at(i)->written->integers;
        const std::int64_t* next = count == expected ? values : nullptr;
        for (std::size_t i = 0; op_ != nullptr && i < op_->by_position.size(); ++i) {
            const PlannedArgument* planned = op_->at(i);
            if (planned == nullptr) continue;
            const Argument& written = *planned->written;
            const std::int64_t* const own = next;
            if (next != nullptr) next += written.integers;
            if (planned->label.empty() || !written.tensors.empty()) continue;
            if (written.integers != 0 && own != nullptr) {
                const bool is_list = written.kind == ArgumentKind::scalar_list;
                const ShortText text =
                    is_list ? ShortText::list(own, written.integers) : ShortText::integer(*own);
                found_.push_back(scalar_argument(*planned, text));
            } else if (const std::optional<ShortText> text = declared_text(written)) {
                found_.push_back(scalar_argument(*planned, *text));
            }
        }
    }

    static std::optional<ShortText> declared_text(const Argument& written) {
        if (written.kind == ArgumentKind::string) return ShortText::quoted(written.value);
        if (written.value.empty()) return std::nullopt;
        if (written.kind == ArgumentKind::scalar) return ShortText(written.value);
        if (written.kind == ArgumentKind::scalar_list) return ShortText("[" + written.value + "]");
        return std::nullopt;
    }

    /// Decodes the list with all tensors of an op behind the proxy executor, created tensors last. Without
    /// declared operands, each tensor may be a created one.
    void sized_list(Handles handles) {
        const std::size_t count = handles == nullptr ? 0 : last_integer_;
        operands_.clear();
        for (std::size_t i = 0; op_ != nullptr && i < op_->by_position.size(); ++i) {
            for (const PlannedArgument* operand : op_->by_position[i]) {
                if (!operand->written->tensors.empty()) operands_.push_back(operand);
            }
        }
        const bool known = operands_.size() == count;
        for (std::size_t i = 0; i < count; ++i) {
            if (!known) {
                add(facts_in_list(i), handles[i], true);
            } else {
                const Role role = operands_[i]->role;
                add(*operands_[i], handles[i], role == Role::makes || role == Role::writes);
            }
        }
    }

    template <typename Element>
    void elements(std::size_t position, std::size_t count, Element element) {
        const std::size_t resume = at_;
        at_ = position;
        for (std::size_t i = 0; i < count; ++i)
            add(facts_in_list(i), element(i), false);
        at_ = resume;
    }

    /// Keeps the value as the length of a list that may follow.
    void note_length(std::int64_t value) { last_integer_ = value < 0 ? 0 : static_cast<std::size_t>(value); }

    void integer(std::int64_t value) {
        note_length(value);
        scalar([value] { return ShortText::integer(value); });
    }

    void truth(bool value) {
        scalar([value] { return ShortText::integer(value ? 1 : 0); });
    }

    void unsigned_integer(std::uint64_t value) {
        scalar([value] { return ShortText::unsigned_integer(value); });
    }

    void real(double value) {
        scalar([value] { return ShortText::real(value); });
    }

    // The proxy executor receives tensors and their counts. The counts are not arguments of the op.
    [[nodiscard]] bool wants_scalars() const { return shim_.kind == ShimKind::op; }

    template <typename Text>
    void scalar(Text text) {
        if (wants_scalars()) found_.push_back(scalar_argument(scalar_facts(), text()));
    }

    [[nodiscard]] const PlannedArgument& scalar_facts() const {
        const PlannedArgument* planned = plan_ == nullptr ? nullptr : plan_->at(at_);
        return planned != nullptr && !planned->label.empty() ? *planned
                                                             : unknown_scalar(at_, shim_.name_of(at_));
    }

    /// A pointer to an optional number, or to the place of a number that the op returns.
    template <typename Number>
    void optional(const Number* place) {
        if (place == nullptr || !wants_scalars()) return;
        const bool is_returned = shim_.name_of(at_).substr(0, 3) == "ret";
        if (is_returned && !after_) return;
        if constexpr (std::is_integral_v<Number>)
            scalar([place] { return ShortText::integer(*place); });
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
    FrameReader frame_;
    const SitePlan* plan_;  // describes the arguments of the frame
    const SitePlan* op_;    // may describe the arguments of an op behind the proxy executor
    bool after_;
    std::size_t at_ = 0;
    std::size_t last_integer_ = 0;
    std::vector<const PlannedArgument*> operands_;
    std::vector<CallArgument>& found_;
};

ShortText scalar_text(FrameReader& frame, std::string_view type) {
    if (contains(type, "double")) return ShortText::real(frame.real());
    if (contains(type, "float")) return ShortText::real(static_cast<double>(frame.single()));
    const std::uint64_t value = frame.integer();
    if (contains(type, "bool")) return ShortText::integer((value & 1U) != 0 ? 1 : 0);
    if (contains(type, "int32") || type == "int" || type == "const int")
        return ShortText::integer(static_cast<std::int32_t>(value));
    return ShortText::integer(static_cast<std::int64_t>(value));
}

template <typename Type>
Type parameter(const void* place) {
    Type value;
    memcpy(&value, place, sizeof value);
    return value;
}

/// Formats a launch parameter by its type in the Triton signature. Returns false for an unknown type.
bool launched_scalar(const void* place, std::string_view type, ShortText& text) {
    if (type == "i64")
        text = ShortText::integer(parameter<std::int64_t>(place));
    else if (type == "u64")
        text = ShortText::unsigned_integer(parameter<std::uint64_t>(place));
    else if (type == "i32")
        text = ShortText::integer(parameter<std::int32_t>(place));
    else if (type == "u32")
        text = ShortText::integer(parameter<std::uint32_t>(place));
    else if (type == "i16")
        text = ShortText::integer(parameter<std::int16_t>(place));
    else if (type == "i8")
        text = ShortText::integer(parameter<std::int8_t>(place));
    else if (type == "i1")
        text = ShortText::integer(parameter<std::uint8_t>(place) & 1);
    else if (type == "fp32" || type == "f32")
        text = ShortText::real(static_cast<double>(parameter<float>(place)));
    else if (type == "fp64" || type == "f64")
        text = ShortText::real(parameter<double>(place));
    else
        return false;
    return true;
}

/// Formats a literal from the source, such as "8192L" or "0.5", without its C++ suffix.
ShortText literal_text(std::string_view text) {
    while (!text.empty() && (text.back() == 'L' || text.back() == 'U'))
        text.remove_suffix(1);
    return ShortText(text);
}

/// Appends the arguments in source order with all numbers, as PyTorch prints them.
void site_arguments(void* const* parameters, const SitePlan& plan, std::span<const std::uint32_t> launched,
                    std::vector<CallArgument>& found) {
    for (std::size_t position = 0; position < plan.by_position.size(); ++position) {
        const PlannedArgument* planned = plan.at(position);
        if (planned == nullptr) continue;
        const auto place = std::find(launched.begin(), launched.end(), position);
        const void* parameter_at = place == launched.end()
                                       ? nullptr
                                       : parameters[static_cast<std::size_t>(place - launched.begin())];
        const Argument& written = *planned->written;
        ShortText text;
        if (!written.tensors.empty()) {
            if (parameter_at != nullptr)
                found.push_back(pointer_argument(*planned, parameter<std::uint64_t>(parameter_at)));
        } else if (written.kind != ArgumentKind::scalar) {
            continue;
        } else if (parameter_at != nullptr && launched_scalar(parameter_at, written.type, text)) {
            found.push_back(scalar_argument(*planned, text));
        } else if (!is_symbol(written.text)) {
            found.push_back(scalar_argument(*planned, literal_text(written.text)));
        }
    }
}

}  // namespace

void shim_arguments(const ShimSignature& shim, const StubFrame& frame, const SitePlan* plan, bool after,
                    std::vector<CallArgument>& found) {
    ShimReader(shim, frame, plan, after, found).read();
}

void made_arguments(const ShimSignature& shim, const StubFrame& frame, const SitePlan& plan,
                    std::vector<CallArgument>& found) {
    ShimReader(shim, frame, &plan, true, found).read_made();
}

void kernel_arguments(const StubFrame& frame, const SitePlan* plan, unsigned integers,
                      std::vector<CallArgument>& found) {
    FrameReader reader(frame);
    if (plan == nullptr) {
        for (unsigned i = 0; i < integers; ++i)
            found.push_back(pointer_argument(unknown_argument(i), reader.integer()));
        return;
    }
    for (const auto& elements : plan->by_position) {
        if (elements.empty()) break;
        const PlannedArgument& planned = *elements.front();
        const Argument& written = *planned.written;
        const bool is_tensor = written.kind == ArgumentKind::tensor;
        // The types decide which registers the following arguments use.
        if (written.type.empty() && !is_tensor) break;
        if (is_tensor || contains(written.type, "*")) {
            found.push_back(pointer_argument(planned, reader.integer()));
            continue;
        }
        const ShortText text = scalar_text(reader, written.type);
        if (is_symbol(written.text)) found.push_back(scalar_argument(planned, text));
    }
}

void launch_arguments(void* const* parameters, const SitePlan* plan, std::span<const std::uint32_t> launched,
                      std::span<const std::uint32_t> sizes, std::vector<CallArgument>& found) {
    if (plan != nullptr && !launched.empty()) return site_arguments(parameters, *plan, launched, found);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] == 8) {
            found.push_back(pointer_argument(unknown_argument(i), parameter<std::uint64_t>(parameters[i])));
        } else if (sizes[i] == 4) {
            found.push_back(scalar_argument(unknown_argument(i),
                                            ShortText::integer(parameter<std::int32_t>(parameters[i]))));
        }
    }
}

}  // namespace aoti_dbg

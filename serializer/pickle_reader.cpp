// See pickle_reader.hpp. A pickle is a program for a stack machine. Values are numbered and never change,
// except for the size of a list or dict. A remembered value that is reused is therefore the same value, and
// there are no cycles to follow.
#include "serializer/pickle_reader.hpp"

#include <cstdio>
#include <optional>

namespace aoti_dbg {

using Kind = PickleValue::Kind;

class PickleMachine {
  public:
    explicit PickleMachine(std::string_view bytes) : rest_(bytes) {}

    Result<Pickle> run();

  private:
    /// Null means success.
    using Complaint = const char*;

    Complaint step(PickleOp op);
    Complaint push_plain(PickleOp op);
    Complaint push_integer(PickleOp op);
    Complaint push_text();
    Complaint push_global();
    Complaint make_tuple(PickleOp op);
    Complaint make_object(Kind kind, std::size_t parts);
    Complaint fill(PickleOp op);
    Complaint remember(std::optional<std::uint64_t> place);
    Complaint recall(std::optional<std::uint64_t> place);

    /// Reads the little-endian number after the opcode.
    std::optional<std::uint64_t> number(std::size_t bytes);
    std::optional<std::string_view> line();

    std::uint32_t push(PickleValue value);
    /// True if the stack has that many values above the last mark.
    [[nodiscard]] bool has(std::size_t count) const { return stack_.size() - floor() >= count; }
    [[nodiscard]] std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
    /// Moves the topmost values to the items; `value` becomes their owner.
    void take_items(PickleValue& value, std::size_t count);

    Pickle pickle_;
    std::string_view rest_;
    std::vector<std::uint32_t> stack_;
    std::vector<std::size_t> marks_;  // heights of the stack
    std::vector<std::uint32_t> memo_;
};

namespace {

constexpr const char* kCutOff = "it ends inside an opcode";
constexpr const char* kEmptyStack = "an opcode needs more values than there are";

PickleValue value_of(Kind kind, std::int64_t number = 0) {
    PickleValue value;
    value.kind = kind;
    value.number = number;
    return value;
}

}  // namespace

std::optional<std::uint64_t> PickleMachine::number(std::size_t bytes) {
    if (rest_.size() < bytes) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
        value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    rest_.remove_prefix(bytes);
    return value;
}

std::optional<std::string_view> PickleMachine::line() {
    const std::size_t length = rest_.find('\n');
    if (length == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(0, length);
    rest_.remove_prefix(length + 1);
    return text;
}

std::uint32_t PickleMachine::push(PickleValue value) {
    const auto number = static_cast<std::uint32_t>(pickle_.values_.size());
    pickle_.values_.push_back(value);
    stack_.push_back(number);
    return number;
}

void PickleMachine::take_items(PickleValue& value, std::size_t count) {
    value.first_item = static_cast<std::uint32_t>(pickle_.items_.size());
    value.items = static_cast<std::uint32_t>(count);
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    pickle_.items_.insert(pickle_.items_.end(), first, stack_.end());
    stack_.erase(first, stack_.end());
}

PickleMachine::Complaint PickleMachine::push_integer(PickleOp op) {
    std::optional<std::uint64_t> bytes = op == PickleOp::int1   ? 1
                                         : op == PickleOp::int2 ? 2
                                         : op == PickleOp::int4 ? 4
                                                                : number(1);
    if (!bytes) return kCutOff;
    if (*bytes > sizeof(std::int64_t)) return "an integer has more than 64 bits";
    std::optional<std::uint64_t> value = number(*bytes);
    if (!value) return kCutOff;
    const bool is_signed = op == PickleOp::int4 || op == PickleOp::long1;
    if (is_signed && *bytes > 0 && *bytes < 8 && (*value >> (8 * *bytes - 1)) != 0) {
        *value |= ~std::uint64_t{0} << (8 * *bytes);
    }
    push(value_of(Kind::integer, static_cast<std::int64_t>(*value)));
    return nullptr;
}

PickleMachine::Complaint PickleMachine::push_text() {
    const std::optional<std::uint64_t> length = number(4);
    if (!length || *length > rest_.size()) return kCutOff;
    PickleValue value = value_of(Kind::text);
    value.text = rest_.substr(0, *length);
    rest_.remove_prefix(*length);
    push(value);
    return nullptr;
}

PickleMachine::Complaint PickleMachine::push_global() {
    const std::optional<std::string_view> module = line();
    const std::optional<std::string_view> name = line();
    if (!module || !name) return kCutOff;
    PickleValue value = value_of(Kind::global);
    value.module = *module;
    value.text = *name;
    push(value);
    return nullptr;
}

PickleMachine::Complaint PickleMachine::make_tuple(PickleOp op) {
    std::size_t count = 0;
    if (op == PickleOp::tuple) {
        if (marks_.empty()) return "a tuple has no start mark";
        count = stack_.size() - marks_.back();
        marks_.pop_back();
    } else if (op != PickleOp::empty_tuple) {
        count = op == PickleOp::tuple1 ? 1 : op == PickleOp::tuple2 ? 2 : 3;
        if (!has(count)) return kEmptyStack;
    }
    PickleValue value = value_of(Kind::tuple);
    take_items(value, count);
    push(value);
    return nullptr;
}

PickleMachine::Complaint PickleMachine::make_object(Kind kind, std::size_t parts) {
    if (!has(parts)) return kEmptyStack;
    PickleValue value = value_of(kind);
    take_items(value, parts);
    push(value);
    return nullptr;
}

PickleMachine::Complaint PickleMachine::fill(PickleOp op) {
    std::size_t count = op == PickleOp::set_item ? 2 : 1;
    if (op == PickleOp::set_items || op == PickleOp::appends) {
        if (marks_.empty()) return "the items of a list or dict have no start mark";
        count = stack_.size() - marks_.back();
        marks_.pop_back();
    }
    if (!has(count + 1)) return kEmptyStack;
    PickleValue& filled = pickle_.values_[stack_[stack_.size() - count - 1]];
    const bool pairs = op == PickleOp::set_item || op == PickleOp::set_items;
    if (pairs && filled.is(Kind::dict) && filled.number == 0 && count % 2 == 0) {
        take_items(filled, count);
    } else {
        stack_.resize(stack_.size() - count);
    }
    // Tensors need no other filled value, such as an OrderedDict or an object's state.
    if (filled.is(Kind::dict) || filled.is(Kind::list))
        filled.number += static_cast<std::int64_t>(pairs ? count / 2 : count);
    return nullptr;
}

PickleMachine::Complaint PickleMachine::remember(std::optional<std::uint64_t> place) {
    if (!place) return kCutOff;
    if (!has(1)) return kEmptyStack;
    // Python counts up. Arbitrary numbers could request any amount of memory.
    if (*place > memo_.size()) return "memo entries are not numbered in order";
    if (*place == memo_.size()) memo_.push_back(0);
    memo_[*place] = stack_.back();
    return nullptr;
}

PickleMachine::Complaint PickleMachine::recall(std::optional<std::uint64_t> place) {
    if (!place) return kCutOff;
    if (*place >= memo_.size()) return "it refers to a memo entry that does not exist";
    stack_.push_back(memo_[*place]);
    return nullptr;
}

PickleMachine::Complaint PickleMachine::push_plain(PickleOp op) {
    if (op == PickleOp::float8 && !number(8)) return kCutOff;
    push(op == PickleOp::none     ? value_of(Kind::none)
         : op == PickleOp::float8 ? value_of(Kind::real)
                                  : value_of(Kind::boolean, op == PickleOp::new_true ? 1 : 0));
    return nullptr;
}

PickleMachine::Complaint PickleMachine::step(PickleOp op) {
    switch (op) {
        case PickleOp::proto: {
            const std::optional<std::uint64_t> version = number(1);
            if (!version) return kCutOff;
            return *version <= 2 ? nullptr : "it has a protocol that torch.save() does not use by default";
        }
        case PickleOp::mark:
            marks_.push_back(stack_.size());
            return nullptr;
        case PickleOp::none:
        case PickleOp::new_true:
        case PickleOp::new_false:
        case PickleOp::float8:
            return push_plain(op);
        case PickleOp::int1:
        case PickleOp::int2:
        case PickleOp::int4:
        case PickleOp::long1:
            return push_integer(op);
        case PickleOp::unicode:
            return push_text();
        case PickleOp::global:
            return push_global();
        case PickleOp::empty_tuple:
        case PickleOp::tuple:
        case PickleOp::tuple1:
        case PickleOp::tuple2:
        case PickleOp::tuple3:
            return make_tuple(op);
        case PickleOp::reduce:
        case PickleOp::new_object:
            return make_object(Kind::object, 2);
        case PickleOp::persistent_id:
            return make_object(Kind::persistent, 1);
        case PickleOp::empty_dict:
            push(value_of(Kind::dict));
            return nullptr;
        case PickleOp::empty_list:
            push(value_of(Kind::list));
            return nullptr;
        case PickleOp::set_item:
        case PickleOp::set_items:
        case PickleOp::append:
        case PickleOp::appends:
        case PickleOp::build:
            return fill(op);
        case PickleOp::put1:
            return remember(number(1));
        case PickleOp::put4:
            return remember(number(4));
        case PickleOp::get1:
            return recall(number(1));
        case PickleOp::get4:
            return recall(number(4));
        case PickleOp::stop:
            break;
    }
    return "it has an opcode that torch.save() does not use";
}

Result<Pickle> PickleMachine::run() {
    if (rest_.size() > Pickle::kLargest) {
        return Status::error("expected a pickle of at most " + std::to_string(Pickle::kLargest) +
                             " bytes, got " + std::to_string(rest_.size()));
    }
    const char* const begin = rest_.data();
    while (!rest_.empty()) {
        const std::size_t offset = static_cast<std::size_t>(rest_.data() - begin);
        const auto op = static_cast<PickleOp>(rest_.front());
        rest_.remove_prefix(1);
        if (op == PickleOp::stop) {
            if (stack_.size() != 1 || !marks_.empty()) {
                return Status::error("a damaged pickle: its result is not exactly one value");
            }
            pickle_.result_ = stack_.back();
            return std::move(pickle_);
        }
        if (const Complaint complaint = step(op)) {
            return Status::error(std::string("an unreadable pickle: ") + complaint + " (at byte " +
                                 std::to_string(offset) + ")");
        }
    }
    return Status::error("a damaged pickle: it has no stop opcode");
}

Result<Pickle> Pickle::read(std::string_view bytes) {
    return PickleMachine(bytes).run();
}

}  // namespace aoti_dbg

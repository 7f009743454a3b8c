#include "shim/capture/op_arguments.hpp"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "serializer/event_jsonl.hpp"
#include "shim/tensors/site_plan.hpp"

namespace aoti_dbg {
namespace {

constexpr std::string_view kNoValue = "None";
constexpr std::size_t kLongestList = 65536;

/// Python reads a string of JSON as the same text.
std::string string_text(std::string_view value) {
    std::string text;
    append_json_string(value, text);
    return text;
}

template <typename Integer>
std::string list_text(const Integer* values, std::size_t count) {
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i)
        text.append(i == 0 ? "" : ", ").append(std::to_string(values[i]));
    return text + "]";
}

/// Reads the frame of a shim function by the letters of shim_table.inc.
class ShimArguments {
  public:
    ShimArguments(const ShimSignature& shim, const StubFrame& frame, const SitePlan* plan,
                  const PlainList<CallArgument>& found)
        : shim_(shim), letters_(shim.args), frame_(frame), plan_(plan), found_(found) {
        if (plan_ != nullptr && plan_->by_position.size() != letters_.size()) plan_ = nullptr;
    }

    std::vector<LaunchArgument> read() {
        for (at_ = 0; at_ < letters_.size(); ++at_)
            take(letters_[at_]);
        return std::move(arguments_);
    }

  private:
    using Handles = const TensorHandle*;

    void take(char letter) {
        switch (letter) {
            case 'i':
            case 'o':
                return tensor(frame_.pointer<TensorHandle>());
            case 'q': {
                const auto place = frame_.pointer<Handles>();
                return tensor(place == nullptr ? nullptr : *place);
            }
            case 'r':
                return returned(frame_.pointer<const void*>());
            case 'l':
                return list(frame_.pointer<Handles>());
            case 'L':
                return optionals(frame_.pointer<const Handles*>());
            case 'd':
                return value(python_real(frame_.real()));
            case 'f':
                return value(python_real(static_cast<double>(frame_.single())));
            case 'b':
                return value((frame_.integer() & 0xffU) != 0 ? "True" : "False");
            case 'w':
                return value(std::to_string(static_cast<std::int64_t>(frame_.integer())));
            case 'z':
                return value(std::to_string(static_cast<std::int32_t>(frame_.integer())));
            case 'y':
                return value(std::to_string(static_cast<std::uint32_t>(frame_.integer())));
            case 'u':
                return value(std::to_string(frame_.integer()));
            default:
                return take_pointer(letter);
        }
    }

    void take_pointer(char letter) {
        switch (letter) {
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
            case 'P':
                return optional_numbers(frame_.pointer<const std::int64_t* const*>());
            case 's':
                return string(frame_.pointer<const char*>());
            case 'S': {
                const auto place = frame_.pointer<const char* const*>();
                const std::optional<std::size_t> count = length();
                if (!count) return string(place == nullptr ? nullptr : *place);
                return unread(*count);
            }
            case 'O':
                frame_.integer();
                return unread(length().value_or(0));
            case 'c':
            case 'C':
                frame_.real();
                if (letter == 'C') frame_.real();
                return value({});
            default:
                return value(frame_.integer() == 0 ? kNoValue : std::string_view());
        }
    }

    LaunchArgument& add() {
        LaunchArgument& argument = arguments_.emplace_back();
        argument.position = static_cast<std::uint32_t>(begin_);
        argument.parameter = shim_.name_of(begin_);
        const bool is_declared = begin_ < shim_.mutates.size() && shim_.mutates[begin_] == 'm';
        const PlannedArgument* const planned = plan_ == nullptr ? nullptr : plan_->at(begin_);
        argument.role = planned != nullptr ? planned->role : is_declared ? Role::updates : Role::reads;
        return argument;
    }

    /// Starts at the current argument, whatever follows of it.
    LaunchArgument& start() {
        begin_ = at_;
        return add();
    }

    void value(std::string_view text) { start().value = text; }

    std::string next_label() {
        while (next_ < found_.size() && found_[next_].kind == CallArgument::Kind::scalar)
            ++next_;
        return next_ < found_.size() ? found_[next_++].facts->label : std::string();
    }

    void tensor(TensorHandle handle) {
        if (handle == nullptr) return value(kNoValue);
        start().labels.push_back(next_label());
    }

    void returned(const void* place) {
        if (place == nullptr) return;
        LaunchArgument& argument = start();
        argument.role = Role::makes;
        const PlannedArgument* const planned = plan_ == nullptr ? nullptr : plan_->at(at_);
        const bool is_named = planned != nullptr && !planned->label.empty();
        argument.labels.push_back(is_named ? planned->label : unknown_argument(at_).label);
    }

    /// Consumes the length that follows a list, which is an argument of its own.
    std::optional<std::size_t> length() {
        begin_ = at_;
        const char next = at_ + 1 < letters_.size() ? letters_[at_ + 1] : ' ';
        if (next != 'n' && next != 'N') return std::nullopt;
        ++at_;
        const std::uint64_t length = frame_.integer();
        return next == 'N' ? length & 0xffffffffU : length;
    }

    /// A list that only its length describes.
    void unread(std::size_t count) { add().value = count == 0 ? "[]" : ""; }

    void list(Handles handles) {
        const std::size_t count = handles == nullptr ? (length(), 0) : length().value_or(0);
        LaunchArgument& argument = add();
        argument.is_list = true;
        for (std::size_t i = 0; i < count; ++i)
            argument.labels.push_back(handles[i] == nullptr ? std::string() : next_label());
    }

    void optionals(const Handles* places) {
        const std::size_t count = places == nullptr ? (length(), 0) : length().value_or(0);
        LaunchArgument& argument = add();
        argument.is_list = true;
        for (std::size_t i = 0; i < count; ++i) {
            const bool is_absent = places[i] == nullptr || *places[i] == nullptr;
            argument.labels.push_back(is_absent ? std::string() : next_label());
        }
    }

    template <typename Number>
    void optional(const Number* place) {
        if (shim_.name_of(at_).starts_with("ret")) return;  // a place for a returned number
        if (place == nullptr) return value(kNoValue);
        if constexpr (std::is_integral_v<Number>)
            value(std::to_string(*place));
        else
            value(python_real(*place));
    }

    template <typename Number>
    void numbers(const Number* values) {
        const std::optional<std::size_t> count = length();
        LaunchArgument& argument = add();
        if (!count || *count > kLongestList) return;
        argument.value = values == nullptr && *count == 0 ? std::string(kNoValue) : "[]";
        if (values != nullptr) argument.value = list_text(values, *count);
    }

    void optional_numbers(const std::int64_t* const* place) {
        if (place != nullptr) return numbers(*place);
        length();
        add().value = kNoValue;
    }

    /// The pointer may be invalid, because the op may never read it. A text that is cut is unknown.
    void string(const char* text) {
        if (text == nullptr) return value(kNoValue);
        const std::optional<ShortText> read = ShortText::string_at(text);
        value(read && read->view().ends_with('"') ? read->view() : std::string_view());
    }

    const ShimSignature& shim_;
    std::string_view letters_;
    FrameReader frame_;
    const SitePlan* plan_;
    const PlainList<CallArgument>& found_;
    std::size_t next_ = 0;   // in found_
    std::size_t at_ = 0;     // in letters_
    std::size_t begin_ = 0;  // where the current argument starts
    std::vector<LaunchArgument> arguments_;
};

/// The value of an argument that the package's JSON has. The type is that JSON's: as_float, as_bools.
std::string declared_value(const Argument& written) {
    if (written.kind == ArgumentKind::absent) return std::string(kNoValue);
    if (written.kind == ArgumentKind::string) return string_text(written.value);
    if (written.type == "as_bool") return written.value == "true" ? "True" : "False";
    if (written.type == "as_float") return written.value;
    if (written.type == "as_floats" || written.type == "as_optional_tensors")
        return "[" + written.value + "]";
    return {};
}

/// Gives each absent tensor of a list an empty label. `written` is "tensor, None".
void insert_absent(std::string_view written, std::vector<std::string>& labels) {
    for (std::size_t i = 0; !written.empty() && i <= labels.size(); ++i) {
        if (written.starts_with(kNoValue))
            labels.insert(labels.begin() + static_cast<std::ptrdiff_t>(i), std::string());
        const std::size_t comma = written.find(", ");
        written = comma == written.npos ? std::string_view() : written.substr(comma + 2);
    }
}

LaunchArgument of_planned(const PlannedArgument& planned) {
    LaunchArgument argument;
    argument.parameter = planned.parameter;
    argument.position = planned.position;
    argument.role = planned.role;
    return argument;
}

}  // namespace

std::string python_real(double value) {
    if (std::isnan(value)) return "float(\"nan\")";
    if (std::isinf(value)) return value < 0 ? "-float(\"inf\")" : "float(\"inf\")";
    char place[32];
    std::string text(place, std::to_chars(place, place + sizeof place, value).ptr);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::vector<LaunchArgument> arguments_of_shim(const ShimSignature& shim, const StubFrame& frame,
                                              const SitePlan* plan, const PlainList<CallArgument>& found) {
    return ShimArguments(shim, frame, plan, found).read();
}

std::vector<LaunchArgument> arguments_of_proxy(const StubFrame& frame, const SitePlan& plan) {
    const auto* integers = reinterpret_cast<const std::int64_t*>(frame.integer(3));
    std::size_t left = static_cast<std::uint32_t>(frame.integer(2));
    std::vector<LaunchArgument> arguments;
    for (const std::vector<const PlannedArgument*>& elements : plan.by_position) {
        if (elements.empty()) continue;
        const Argument& written = *elements.front()->written;
        LaunchArgument& argument = arguments.emplace_back(of_planned(*elements.front()));
        if (!written.tensors.empty()) {
            const bool has_absent = written.type == "as_optional_tensors";
            argument.is_list = has_absent || written.type == "as_tensors" || elements.size() > 1;
            for (const PlannedArgument* const element : elements)
                argument.labels.push_back(element->label);
            if (has_absent) insert_absent(written.value, argument.labels);
            // The JSON file lists what the op creates last.
            if (argument.role == Role::writes) argument.role = Role::makes;
        } else if (written.integers == 0) {
            argument.value = declared_value(written);
        } else if (integers != nullptr && written.integers <= left) {
            const bool is_list = written.kind == ArgumentKind::scalar_list;
            argument.value = is_list ? list_text(integers, written.integers) : std::to_string(*integers);
            integers += written.integers;
            left -= written.integers;
        }
    }
    return arguments;
}

std::vector<LaunchArgument> arguments_of_python(const PassedValues& values, const SitePlan& plan) {
    std::vector<LaunchArgument> arguments;
    for (std::size_t i = 0; i < plan.by_position.size(); ++i) {
        const PlannedArgument* const planned = plan.at(i);
        if (planned == nullptr) continue;
        LaunchArgument& argument = arguments.emplace_back(of_planned(*planned));
        if (planned->role == Role::makes) argument.labels.push_back(planned->label);
        if (planned->role == Role::makes || i >= values.values.size()) continue;
        const PassedValue& value = values.values[i];
        if (value.kind == PassedValue::Kind::tensor) argument.labels.push_back(planned->label);
        if (value.kind == PassedValue::Kind::integer) argument.value = std::to_string(value.integer);
        if (value.kind == PassedValue::Kind::real) argument.value = python_real(value.real);
    }
    return arguments;
}

}  // namespace aoti_dbg

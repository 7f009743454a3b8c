#include "shim/measure/arguments.hpp"

#include <cstdio>

#include "shim/measure/number_text.hpp"

namespace aoti_dbg {
namespace {

bool is_symbol(std::string_view text) {
    const char first = text.empty() ? '0' : text.front();
    return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_';
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

class ShimReader {
  public:
    ShimReader(const ShimSignature& shim, const StubFrame& frame, const CallSite* site, bool after)
        : letters_(shim.args),
          frame_(frame),
          site_(site != nullptr && site->arguments.size() == letters_.size() ? site : nullptr),
          op_(site),
          after_(after) {}

    std::vector<CallArgument> read() {
        for (at_ = 0; at_ < letters_.size(); ++at_)
            take(letters_[at_]);
        return std::move(found_);
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
                return scalar(number_text(frame_.real()));
            case 'f':
                return scalar(number_text(static_cast<double>(frame_.single())));
            case 'c':
                frame_.real();
                return;
            case 'C':
                frame_.real();
                frame_.real();
                return;
            case 'w':
                return integer(static_cast<std::int64_t>(frame_.integer()));
            case 'u':
                return scalar(std::to_string(frame_.integer()));
            case 'z':
                return integer(static_cast<std::int32_t>(frame_.integer()));
            case 'y':
                return integer(static_cast<std::int64_t>(frame_.integer() & 0xffffffffU));
            default:
                frame_.integer();
                return;
        }
    }

    [[nodiscard]] const Argument* written() const {
        return site_ == nullptr ? nullptr : &site_->arguments[at_];
    }

    [[nodiscard]] std::string label() const {
        const Argument* argument = written();
        const bool known = argument != nullptr && !argument->label().empty();
        return known ? std::string(argument->label()) : "arg" + std::to_string(at_);
    }

    [[nodiscard]] std::string label_in_list(std::size_t index) const {
        const Argument* argument = written();
        if (argument != nullptr && index < argument->tensors.size() && !argument->tensors[index].name.empty())
            return argument->tensors[index].name;
        return "arg" + std::to_string(at_) + "[" + std::to_string(index) + "]";
    }

    void add(std::string label, TensorHandle handle, bool only_after) {
        if (handle == nullptr) return;
        CallArgument argument;
        argument.label = std::move(label);
        argument.handle = handle;
        argument.only_after = only_after;
        found_.push_back(std::move(argument));
    }

    void tensor(TensorHandle handle) { add(label(), handle, false); }

    void optional(Handles place) {
        if (place != nullptr) add(label(), *place, false);
    }

    // Before the call the place holds whatever lay there.
    void returned(Handles place) {
        if (after_ && place != nullptr) add(label(), *place, true);
    }

    /// The length that follows, which is an argument of its own.
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

    /// What the proxy executor gets: all tensors of the op in one list, what it makes last. Where nothing
    /// says which those are, each may be one.
    void sized_list(Handles handles) {
        const std::size_t count = handles == nullptr ? 0 : last_integer_;
        struct Operand {
            std::string name;
            bool is_made;
        };
        std::vector<Operand> operands;
        for (std::size_t i = 0; op_ != nullptr && i < op_->arguments.size(); ++i) {
            for (const TensorName& tensor : op_->arguments[i].tensors)
                operands.push_back({tensor.name, op_->arguments[i].access == Access::writes});
        }
        const bool known = operands.size() == count;
        for (std::size_t i = 0; i < count; ++i)
            add(known ? operands[i].name : label_in_list(i), handles[i], !known || operands[i].is_made);
    }

    template <typename Element>
    void elements(std::size_t position, std::size_t count, Element element) {
        const std::size_t resume = at_;
        at_ = position;
        for (std::size_t i = 0; i < count; ++i)
            add(label_in_list(i), element(i), false);
        at_ = resume;
    }

    void integer(std::int64_t value) {
        last_integer_ = value < 0 ? 0 : static_cast<std::size_t>(value);
        scalar(std::to_string(value));
    }

    void scalar(std::string text) {
        const Argument* argument = written();
        if (argument == nullptr || argument->kind != ArgumentKind::scalar || !is_symbol(argument->text))
            return;
        CallArgument found;
        found.kind = CallArgument::Kind::scalar;
        found.label = argument->text;
        found.text = std::move(text);
        found_.push_back(std::move(found));
    }

    std::string_view letters_;
    FrameReader frame_;
    const CallSite* site_;  // whose arguments are those of the frame
    const CallSite* op_;    // whose arguments may be those of an op behind the proxy executor
    bool after_;
    std::size_t at_ = 0;
    std::size_t last_integer_ = 0;
    std::vector<CallArgument> found_;
};

CallArgument pointer_argument(std::string label, std::uint64_t address) {
    CallArgument argument;
    argument.kind = CallArgument::Kind::pointer;
    argument.label = std::move(label);
    argument.address = reinterpret_cast<const void*>(address);
    return argument;
}

std::string scalar_text(FrameReader& frame, std::string_view type) {
    if (contains(type, "double")) return number_text(frame.real());
    if (contains(type, "float")) return number_text(static_cast<double>(frame.single()));
    const std::uint64_t value = frame.integer();
    if (contains(type, "bool")) return (value & 1U) != 0 ? "1" : "0";
    if (contains(type, "int32") || type == "int" || type == "const int")
        return std::to_string(static_cast<std::int32_t>(value));
    return std::to_string(static_cast<std::int64_t>(value));
}

}  // namespace

std::vector<CallArgument> shim_arguments(const ShimSignature& shim, const StubFrame& frame,
                                         const CallSite* site, bool after) {
    return ShimReader(shim, frame, site, after).read();
}

std::vector<CallArgument> kernel_arguments(const StubFrame& frame, const CallSite* site, unsigned integers) {
    std::vector<CallArgument> found;
    FrameReader reader(frame);
    if (site == nullptr) {
        for (unsigned i = 0; i < integers; ++i)
            found.push_back(pointer_argument("arg" + std::to_string(i), reader.integer()));
        return found;
    }
    for (const Argument& argument : site->arguments) {
        const bool is_tensor = argument.kind == ArgumentKind::tensor;
        // Which register the rest lies in cannot be told.
        if (argument.type.empty() && !is_tensor) break;
        if (is_tensor || contains(argument.type, "*")) {
            found.push_back(pointer_argument(std::string(argument.label()), reader.integer()));
            continue;
        }
        std::string text = scalar_text(reader, argument.type);
        if (!is_symbol(argument.text)) continue;
        CallArgument scalar;
        scalar.kind = CallArgument::Kind::scalar;
        scalar.label = argument.text;
        scalar.text = std::move(text);
        found.push_back(std::move(scalar));
    }
    return found;
}

}  // namespace aoti_dbg

#include "shim/save/tensor_names.hpp"

#include <algorithm>
#include <array>

#include "base/clean_text.hpp"
#include "base/fnv.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg {
namespace {

constexpr std::string_view kNeverPlain = "/%\x7F";
constexpr std::string_view kNotPortable = "\":<>|*?\\";
constexpr std::size_t kHashCharacters = 17;  // "~" and 16 digits
// Limits for the parts of a name that is too long. PyTorch's own parts are shorter.
constexpr std::size_t kLongestLabel = 64;
constexpr std::size_t kLongestDevice = 24;
constexpr std::size_t kExtension = 3;  // ".pt"

void append_escape(char c, std::string& out) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
}

int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// Works like %04u in printf.
void append_padded(std::uint64_t number, std::size_t digits, std::string& out) {
    const std::string text = std::to_string(number);
    out.append(digits > text.size() ? digits - text.size() : 0, '0');
    out += text;
}

/// Returns the longest prefix of at most `most` bytes that splits no escape and no character.
std::string_view beginning_of(std::string_view text, std::size_t most) {
    if (text.size() <= most) return text;
    std::size_t length = 0;
    while (length < most) {
        const std::size_t step =
            text[length] == '%' ? 3 : std::max<std::size_t>(1, character_length(text.substr(length)));
        if (length + step > most) break;
        length += step;
    }
    return text.substr(0, length);
}

std::string_view word_of_side(EventSide side) {
    switch (side) {
        case EventSide::before:
            return "before_launch";
        case EventSide::after:
            return "after_launch";
        case EventSide::inputs:
            return "aoti_model_inputs";
        case EventSide::outputs:
            return "aoti_model_outputs";
    }
    return "before_launch";
}

/// The escaped parts of a name.
struct NameParts {
    std::string_view side;
    std::string kernel;  // empty for inputs and outputs
    std::string label;
    std::string device;

    NameParts(const SavedPlace& place, bool portable)
        : side(word_of_side(place.side)),
          label(escaped_name(place.label, portable)),
          device(escaped_name(place.device, portable)) {
        if (place.side == EventSide::before || place.side == EventSide::after)
            kernel = escaped_name(place.kernel, portable);
    }

    [[nodiscard]] std::string joined() const {
        std::string name;
        name.reserve(side.size() + kernel.size() + label.size() + device.size() + 3);
        name = side;
        for (const std::string* part : {&kernel, &label, &device}) {
            if (!part->empty()) name.append("_").append(*part);
        }
        return name;
    }
};

std::size_t longest_stem(const NameRules& rules) {
    // Every file system in use allows the length of a shortened name.
    return std::max<std::size_t>(rules.longest, 140) - kExtension - kRoomBehindName;
}

/// Returns whether no name of this place can be too long, even if each byte is escaped.
bool is_short(const SavedPlace& place, const NameRules& rules) {
    const std::size_t bytes = place.kernel.size() + place.label.size() + place.device.size();
    return word_of_side(place.side).size() + 3 * (bytes + 1) <= longest_stem(rules);
}

/// Returns whether a name keeps this ASCII character as it is.
bool is_plain_ascii(char c, bool portable) {
    return static_cast<unsigned char>(c) >= 0x20 && kNeverPlain.find(c) == std::string_view::npos &&
           !(portable && kNotPortable.find(c) != std::string_view::npos);
}

/// Returns the beginning of `name` that is letters, digits, `_`, `.` and `-`. Usually that is all of it.
std::string_view simple_beginning(std::string_view name) {
    static constexpr auto kIsSimple = [] {
        std::array<bool, 256> simple{};
        for (const char c :
             std::string_view("_.-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
            simple[static_cast<unsigned char>(c)] = true;
        return simple;
    }();
    std::size_t length = 0;
    while (length < name.size() && kIsSimple[static_cast<unsigned char>(name[length])])
        ++length;
    return name.substr(0, length);
}

}  // namespace

std::string escaped_name(std::string_view name, bool portable) {
    const std::string_view simple = simple_beginning(name);
    if (simple.size() == name.size()) return std::string(name);
    std::string escaped;
    escaped.reserve(name.size());
    escaped = simple;
    name.remove_prefix(simple.size());
    while (!name.empty()) {
        const std::size_t length = character_length(name);
        const char first = name.front();
        const bool is_plain = length > 1 || (length == 1 && is_plain_ascii(first, portable));
        const std::size_t taken = std::max<std::size_t>(1, length);
        if (is_plain) {
            escaped.append(name.substr(0, taken));
        } else {
            append_escape(first, escaped);
        }
        name.remove_prefix(taken);
    }
    return escaped;
}

std::string unescaped_name(std::string_view name) {
    std::string plain;
    plain.reserve(name.size());
    for (std::size_t i = 0; i < name.size(); ++i) {
        const int high = i + 2 < name.size() ? digit_value(name[i + 1]) : -1;
        const int low = high < 0 ? -1 : digit_value(name[i + 2]);
        if (name[i] != '%' || low < 0) {
            plain += name[i];
        } else {
            plain += static_cast<char>(high * 16 + low);
            i += 2;
        }
    }
    return plain;
}

std::string folder_of_run(std::uint32_t run) {
    if (run == ~0U) return "outside";
    std::string name = "run";
    append_padded(run, 4, name);
    return name;
}

std::string folder_of(const SavedPlace& place) {
    std::string name = folder_of_run(place.run) + "/";
    if (place.side == EventSide::inputs || place.side == EventSide::outputs) {
        return name + (place.side == EventSide::inputs ? "inputs" : "outputs");
    }
    if (place.call == kNoCallNumber) {
        name += "seq";
        append_padded(place.sequence, 10, name);
    } else {
        name += "call";
        append_padded(place.call, 4, name);
    }
    return name;
}

std::string stem_of(const SavedPlace& place, const NameRules& rules) {
    NameParts parts(place, rules.portable);
    std::string whole = parts.joined();
    const std::size_t most = longest_stem(rules);
    if (whole.size() <= most) return whole;
    std::string mark = "~";
    append_hex(fnv1a(whole), mark);
    parts.label = beginning_of(parts.label, kLongestLabel);
    parts.device = beginning_of(parts.device, kLongestDevice);
    const std::size_t others = parts.joined().size() - parts.kernel.size() + kHashCharacters;
    parts.kernel = beginning_of(parts.kernel, most > others ? most - others : 0);
    // Inputs have no kernel, so the mark follows the label.
    (parts.kernel.empty() ? parts.label : parts.kernel) += mark;
    return parts.joined();
}

std::string whole_stem_if_cut(const SavedPlace& place, const NameRules& rules) {
    if (is_short(place, rules)) return {};
    std::string whole = NameParts(place, rules.portable).joined();
    return whole.size() > longest_stem(rules) ? whole : std::string();
}

void append_file_name(std::string_view stem, std::uint64_t number, std::string& out) {
    out += stem;
    if (number > 1) out.append(".").append(std::to_string(number));
    out += ".pt";
}

std::string file_name_of(std::string_view stem, std::uint64_t number) {
    std::string name;
    name.reserve(stem.size() + kRoomBehindName + kExtension);
    append_file_name(stem, number, name);
    return name;
}

}  // namespace aoti_dbg

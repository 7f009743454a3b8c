// Converts the tree of a file to options. Values have the same meaning as in variables: both use
// option_rows().
#include "config/config_file.hpp"

#include <algorithm>
#include <optional>
#include <variant>

#include "config/json_text.hpp"
#include "config/option_values.hpp"
#include "config/words.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kLongestPath = 256;  // bytes of a path in a complaint, each at most four characters
constexpr std::string_view kRules = "rules";
constexpr const char* kIgnored = " The entry is ignored.";

std::string place(std::string_view path, std::string_view text, std::size_t at) {
    const TextPosition position = position_of(text, at);
    return printable(path, kLongestPath) + ":" + std::to_string(position.line) + ":" +
           std::to_string(position.column) + ": ";
}

std::string_view kind_in_words(JsonValue::Kind kind) {
    switch (kind) {
        case JsonValue::Kind::null:
            return "null";
        case JsonValue::Kind::boolean:
            return "a boolean";
        case JsonValue::Kind::number:
            return "a number";
        case JsonValue::Kind::string:
            return "a string";
        case JsonValue::Kind::array:
            return "a list";
        case JsonValue::Kind::object:
            break;
    }
    return "an object";
}

bool takes_list(FileForm form) {
    return form == FileForm::list || form == FileForm::number_or_list;
}

bool takes_number(FileForm form) {
    return form == FileForm::number || form == FileForm::number_or_list;
}

/// Returns a value as the user wrote it: strings unchanged, a list with commas.
std::string shown(const JsonValue& value) {
    if (value.kind != JsonValue::Kind::array) return value.text;
    std::string text;
    for (const JsonValue& child : value.children)
        text += (text.empty() ? "" : ",") + child.text;
    return text;
}

/// Whether the keys of an object are options of the file or of a rule.
enum class Keys { of_file, of_rule };

class Reader {
  public:
    Reader(std::string_view path, std::string_view text, Options& options, Complaints& complaints)
        : path_(path), text_(text), options_(options), complaints_(complaints) {}

    void read(const JsonValue& root) {
        const JsonValue* rules = nullptr;
        for (const Entry& entry : entries(root, Keys::of_file, &rules))
            if (take(entry, options_)) fields_.push_back(entry.row->info.field);
        if (rules != nullptr) read_rules(*rules);
    }
    std::vector<std::string_view> fields() { return std::move(fields_); }

  private:
    struct Entry {
        const OptionRow* row;
        const JsonValue* value;
    };

    /// `what` is a function that returns the rest of the complaint.
    template <typename What>
    void complain(std::size_t at, const What& what) {
        complaints_.add([&] { return "AOTI_DBG_CONFIG=" + place(path_, text_, at) + what(); });
    }

    static std::vector<std::string_view> known_keys(Keys keys) {
        std::vector<std::string_view> known;
        for (const OptionRow& row : option_rows())
            if (!row.info.key().empty() && (keys == Keys::of_file || rule_part(row.info.field) != nullptr))
                known.push_back(row.info.key());
        if (keys == Keys::of_file) known.push_back(kRules);
        return known;
    }

    /// Returns the members of `object` that are options, in the order of options.def. `rules` receives the
    /// rules.
    std::vector<Entry> entries(const JsonValue& object, Keys keys, const JsonValue** rules) {
        const std::vector<std::string_view> known = known_keys(keys);
        std::vector<const JsonValue*> found(known.size());
        for (const JsonValue& member : object.children) {
            const auto key = std::find(known.begin(), known.end(), member.key);
            if (key == known.end()) {
                complain(member.key_at, [&] { return unknown_key(member.key, known); });
                continue;
            }
            const JsonValue*& slot = found[static_cast<std::size_t>(key - known.begin())];
            if (slot == nullptr) {
                slot = &member;
            } else {
                complain(member.key_at,
                         [&] { return "duplicate key " + quoted(member.key) + ". The first one counts."; });
            }
        }
        std::vector<Entry> result;
        for (std::size_t i = 0; i < known.size(); ++i) {
            if (found[i] == nullptr) continue;
            if (known[i] == kRules) {
                *rules = found[i];
                continue;
            }
            const auto row = std::find_if(option_rows().begin(), option_rows().end(),
                                          [&](const OptionRow& each) { return each.info.key() == known[i]; });
            result.push_back({&*row, found[i]});
        }
        return result;
    }

    static std::string unknown_key(const std::string& key, const std::vector<std::string_view>& known) {
        if (key == "config") return "a configuration file cannot name another one." + std::string(kIgnored);
        // The key may be the name of the flag or of the variable.
        std::string word = lower_case(key);
        for (const std::string_view prefix : {"--", "aoti_dbg_"})
            if (word.substr(0, prefix.size()) == prefix) word.erase(0, prefix.size());
        const std::string_view near = nearest_word(word, known);
        std::string text = "unknown key " + quoted(key) + "." + kIgnored;
        if (!near.empty()) return text + " Did you mean \"" + std::string(near) + "\"?";
        text += " Known keys: ";
        for (std::size_t i = 0; i < known.size(); ++i)
            text += (i == 0 ? "" : ", ") + std::string(known[i]);
        return text + ".";
    }

    /// Returns whether the entry set its part of `target`.
    bool take(const Entry& entry, Options& target) {
        const OptionInfo& info = entry.row->info;
        const std::optional<Texts> texts = texts_of(*entry.value, info);
        if (!texts || texts->empty()) return false;
        const Taken fault = entry.row->take(*texts, target);
        if (!fault) return true;
        const bool took = !fault->instead.empty();
        complain(entry.value->at, [&] {
            return std::string(info.key()) + ": " +
                   explanation(info, shown(*entry.value), *fault,
                               took ? std::string_view(fault->instead) : "The entry is ignored");
        });
        return took;
    }

    /// Returns the texts of a value, or nothing if it is invalid. Blank texts are dropped, because they count
    /// as unset.
    std::optional<Texts> texts_of(const JsonValue& value, const OptionInfo& info) {
        Texts texts;
        const bool is_list = value.kind == JsonValue::Kind::array && takes_list(info.form);
        if (is_list) {
            for (const JsonValue& child : value.children)
                if (!add_text(child, info, Place::in_list, texts)) return std::nullopt;
        } else if (!add_text(value, info, Place::alone, texts)) {
            return std::nullopt;
        }
        return texts;
    }

    enum class Place { alone, in_list };

    bool add_text(const JsonValue& value, const OptionInfo& info, Place where, Texts& texts) {
        const bool is_number =
            value.kind == JsonValue::Kind::number && where == Place::alone && takes_number(info.form);
        if (!is_number && value.kind != JsonValue::Kind::string) {
            complain(value.at, [&] {
                const std::string_view expected =
                    where == Place::in_list ? "a string in the list" : form_in_words(info.form);
                return std::string(info.key()) + ": expected " + std::string(expected) + ", got " +
                       std::string(kind_in_words(value.kind)) + "." + kIgnored;
            });
            return false;
        }
        // C ends names of files and kernels at a NUL byte.
        if (value.text.find('\0') != std::string::npos) {
            complain(value.at, [&] {
                return std::string(info.key()) + ": expected no NUL character, got " + quoted(value.text) +
                       "." + kIgnored;
            });
            return false;
        }
        const std::string_view text = trimmed(value.text);
        if (!text.empty()) texts.push_back(text);
        return true;
    }

    void read_rules(const JsonValue& rules) {
        if (rules.kind != JsonValue::Kind::array) {
            complain(rules.at, [&] {
                return "rules: expected a list of objects, got " + std::string(kind_in_words(rules.kind)) +
                       "." + kIgnored;
            });
            return;
        }
        for (const JsonValue& rule : rules.children)
            read_rule(rule);
    }

    void read_rule(const JsonValue& object) {
        if (object.kind != JsonValue::Kind::object) {
            complain(object.at, [&] {
                return "rules: expected an object in the list, got " +
                       std::string(kind_in_words(object.kind)) + "." + kIgnored;
            });
            return;
        }
        Rule rule;
        Options scratch;
        bool has_kernels = false;
        for (const Entry& entry : entries(object, Keys::of_rule, nullptr)) {
            const RulePart& part = *rule_part(entry.row->info.field);
            if (!take(entry, scratch)) continue;
            part.set(scratch, rule);
            has_kernels = has_kernels || part.field == "kernels";
        }
        if (!has_kernels) {
            complain(object.at,
                     [] { return "a rule needs \"kernels\". The rule is ignored. Add \"kernels\" to it."; });
            return;
        }
        options_.level_given = options_.level_given || (rule.levels && rule.levels->any());
        options_.rules.push_back(std::move(rule));
    }

    std::string_view path_;
    std::string_view text_;
    Options& options_;
    Complaints& complaints_;
    std::vector<std::string_view> fields_;
};

/// Parses a text whose root must be an object.
std::variant<JsonValue, JsonFault> parse_object(std::string_view text) {
    std::variant<JsonValue, JsonFault> parsed = parse_json(text);
    if (const auto* const root = std::get_if<JsonValue>(&parsed);
        root != nullptr && root->kind != JsonValue::Kind::object) {
        return JsonFault{root->at, "expected an object, { ... }"};
    }
    return parsed;
}

}  // namespace

std::vector<std::string_view> apply_config_file(std::string_view path, std::string_view text,
                                                Options& options, Complaints& complaints) {
    const std::variant<JsonValue, JsonFault> parsed = parse_object(text);
    if (const auto* const fault = std::get_if<JsonFault>(&parsed)) {
        complaints.add([&] {
            return "AOTI_DBG_CONFIG=" + place(path, text, fault->at) + fault->what + ". The file is ignored.";
        });
        return {};
    }
    Reader reader(path, text, options, complaints);
    reader.read(std::get<JsonValue>(parsed));
    return reader.fields();
}

std::string fault_of_config_file(std::string_view path, std::string_view text) {
    const std::variant<JsonValue, JsonFault> parsed = parse_object(text);
    const auto* const fault = std::get_if<JsonFault>(&parsed);
    return fault == nullptr ? std::string() : place(path, text, fault->at) + fault->what + ".";
}

}  // namespace aoti_dbg

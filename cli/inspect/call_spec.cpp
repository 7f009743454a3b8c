#include "cli/inspect/call_spec.hpp"

#include <cstddef>
#include <nlohmann/json.hpp>

#include "model/source_lexer.hpp"

namespace aoti_dbg::cli {
namespace {

using SpecJson = nlohmann::json;

constexpr std::size_t kLargest = std::size_t{16} << 20U;
constexpr std::size_t kMostLeaves = std::size_t{1} << 16U;
constexpr int kDeepest = 64;

/// Reads `in_spec_ = R"([1, {...}])";`. Older releases write a plain string, and a long text is written in
/// parts, below each other.
SpecJson read_spec(std::string_view source, std::string_view name) {
    const std::string begin = std::string(name) + " =";
    const std::size_t at = source.find(begin);
    if (at == std::string_view::npos) return {};
    SourceLexer lexer(source.substr(at + begin.size(), kLargest));
    std::string text;
    for (Token token = lexer.next(); token.is_string(); token = lexer.next())
        text += string_value(token);
    const SpecJson document = SpecJson::parse(text, nullptr, false);
    return document.is_array() && document.size() == 2 ? document[1] : SpecJson();
}

const SpecJson& member(const SpecJson& json, const char* name) {
    static const SpecJson none;
    const auto found = json.is_object() ? json.find(name) : json.end();
    return found == json.end() ? none : *found;
}

/// Returns the keys of a dict, or nothing.
SpecJson keys_of(const SpecJson& spec) {
    const SpecJson& type = member(spec, "type");
    const SpecJson& context = member(spec, "context");
    if (!type.is_string() || !context.is_string()) return {};
    const SpecJson keys = SpecJson::parse(context.get_ref<const std::string&>(), nullptr, false);
    return type.get_ref<const std::string&>().find("dict") != std::string::npos && keys.is_array()
               ? keys
               : SpecJson();
}

void add_places(const SpecJson& spec, const std::string& place, int depth, std::vector<std::string>& places) {
    if (depth > kDeepest || places.size() >= kMostLeaves) return;
    if (member(spec, "type").is_null()) {
        places.push_back(place);
        return;
    }
    const SpecJson keys = keys_of(spec);
    const SpecJson& children = member(spec, "children_spec");
    for (std::size_t i = 0; i < children.size(); ++i) {
        const bool has_key = i < keys.size();
        const std::string key =
            has_key ? keys[i].dump(-1, ' ', false, SpecJson::error_handler_t::replace) : "";
        add_places(children[i], place + "[" + (has_key ? key : std::to_string(i)) + "]", depth + 1, places);
    }
}

}  // namespace

std::vector<std::string> input_places(std::string_view wrapper_source) {
    std::vector<std::string> places;
    const SpecJson spec = read_spec(wrapper_source, "in_spec_");
    const SpecJson& children = member(spec, "children_spec");
    if (!children.is_array() || children.size() != 2) return places;
    add_places(children[0], "args", 0, places);
    const SpecJson keys = keys_of(children[1]);
    const SpecJson& keywords = member(children[1], "children_spec");
    for (std::size_t i = 0; i < keywords.size() && i < keys.size(); ++i)
        add_places(keywords[i], keys[i].is_string() ? keys[i].get<std::string>() : keys[i].dump(), 0, places);
    return places;
}

std::vector<std::string> output_places(std::string_view wrapper_source) {
    std::vector<std::string> places;
    const SpecJson spec = read_spec(wrapper_source, "out_spec_");
    if (spec.is_object()) add_places(spec, "", 0, places);
    return places;
}

}  // namespace aoti_dbg::cli

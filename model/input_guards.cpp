// Knows the few forms in which Inductor writes these checks and skips any other form.
#include "model/input_guards.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "model/reading_limits.hpp"

namespace aoti_dbg {
namespace {

constexpr std::string_view kFunction = "check_input_";
constexpr std::string_view kDtypePrefix = "aoti_torch_dtype_";

/// Parses 12 or 12L. Returns nothing for other text or a number that does not fit.
std::optional<std::int64_t> number_of(const Token& token) {
    if (token.kind != Token::Kind::number) return std::nullopt;
    std::int64_t number = 0;
    const char* const end = token.text.data() + token.text.size();
    const auto [rest, error] = std::from_chars(token.text.data(), end, number);
    const bool is_whole = std::all_of(rest, end, [](char c) { return c == 'L' || c == 'U'; });
    return error == std::errc() && is_whole ? std::optional(number) : std::nullopt;
}

/// The parts of arg0_1_size[2].
struct Element {
    std::string_view array;
    std::size_t dimension = 0;
};

std::optional<Element> element_at(const Statement& statement, std::size_t at) {
    const std::optional<std::int64_t> dimension = number_of(statement[at + 2]);
    if (statement[at].kind != Token::Kind::word || !statement[at + 1].is('[') || !statement[at + 3].is(']') ||
        !dimension || *dimension < 0 || static_cast<std::size_t>(*dimension) >= kMostDimensions)
        return std::nullopt;
    return Element{statement[at].text, static_cast<std::size_t>(*dimension)};
}

/// Returns the element at `dimension` and extends the list if necessary. Returns null if that exceeds the
/// limits.
template <typename Value>
Value* grown(std::vector<Value>& list, std::size_t dimension, const Value& filling, Keeper& keeper) {
    const std::size_t missing = dimension < list.size() ? 0 : dimension + 1 - list.size();
    if (!keeper.allows_entries(missing)) return nullptr;
    if (missing != 0) list.resize(dimension + 1, filling);
    return &list[dimension];
}

}  // namespace

bool InputGuardReader::is_about(std::string_view word, std::string_view suffix) const {
    const std::string& name = guards_.back().name;
    return word.size() == name.size() + suffix.size() && word.starts_with(name) && word.ends_with(suffix);
}

void InputGuardReader::see(const Statement& statement) {
    if (statement.end() == Statement::End::block_opens && !statement[0].is_word("if"))
        return begin(statement);
    if (!is_inside_) return;
    if (statement.end() == Statement::End::block_opens) return see_condition(statement);
    see_declaration(statement);
}

/// Reads `AOTI_NOINLINE static void check_input_0(AtenTensorHandle* input_handles) {`.
void InputGuardReader::begin(const Statement& statement) {
    const std::size_t open = statement.find('(', statement.all());
    is_inside_ = false;
    if (open == 0 || open >= statement.size() || statement[open - 1].kind != Token::Kind::word) return;
    std::string_view function = statement[open - 1].text;
    if (!function.starts_with(kFunction)) return;
    function.remove_prefix(kFunction.size());
    const std::optional<std::int64_t> position = number_of({Token::Kind::number, function});
    if (!position || *position < 0 || !keeper_.allows(static_cast<std::size_t>(*position), kMaxPositions) ||
        !keeper_.allows(guards_.size(), kMaxPositions))
        return;
    InputGuard& guard = guards_.emplace_back();
    guard.position = static_cast<std::uint32_t>(*position);
    guard.line = statement.line();
    is_inside_ = true;
}

void InputGuardReader::see_declaration(const Statement& statement) {
    InputGuard& guard = guards_.back();
    if (statement[0].is_word("ConstantHandle") && guard.name.empty()) {
        guard.name = keeper_.keep(statement[1].text);
        return;
    }
    if (!statement[0].is_word("int32_t") || !statement[2].is('=')) return;
    const Token& value = statement[3];
    if (is_about(statement[1].text, "_expected_dtype") && value.text.starts_with(kDtypePrefix))
        guard.dtype = keeper_.keep(value.text.substr(kDtypePrefix.size()));
    if (is_about(statement[1].text, "_expected_device_type")) guard.device_type = number_of(value);
}

/// Reads `if (12 != arg0_1_size[1]) {` and `if (arg0_1_size[0] > 64) {`.
void InputGuardReader::see_condition(const Statement& statement) {
    InputGuard& guard = guards_.back();
    if (!statement[1].is('(')) return;
    if (const std::optional<std::int64_t> exact = number_of(statement[2])) {
        const std::optional<Element> element = element_at(statement, 5);
        if (!statement[3].is('!') || !statement[4].is('=') || !element) return;
        if (is_about(element->array, "_size")) {
            if (InputGuard::Size* size = grown(guard.sizes, element->dimension, {}, keeper_))
                *size = {true, *exact, *exact};
        } else if (is_about(element->array, "_stride")) {
            if (std::int64_t* stride = grown<std::int64_t>(guard.strides, element->dimension, -1, keeper_))
                *stride = *exact;
        }
        return;
    }
    const std::optional<Element> element = element_at(statement, 2);
    const std::optional<std::int64_t> bound = number_of(statement[7]);
    const bool is_least = statement[6].is('<');
    if (!element || !bound || (!is_least && !statement[6].is('>')) || !is_about(element->array, "_size"))
        return;
    InputGuard::Size* const size = grown(guard.sizes, element->dimension, {}, keeper_);
    if (size == nullptr) return;
    (is_least ? size->least : size->most) = *bound;
    size->is_said = true;
}

bool relies_on_strides(const RunBody& run, std::string_view input) {
    std::set<std::string_view> names = {input};
    // The entries are in source order, so one pass finds names of names.
    for (const SharedMemory& memory : run.shared_memory) {
        if (names.count(memory.of) == 0) continue;
        if (memory.how == SharedMemory::How::view) return true;
        names.insert(memory.name);
    }
    const auto goes_by_them = [&names](const CallSite& site) {
        const bool is_kernel = site.kind == SiteKind::triton || site.kind == SiteKind::user_triton ||
                               site.kind == SiteKind::cpp || site.kind == SiteKind::device_kernel;
        return std::any_of(site.arguments.begin(), site.arguments.end(), [&](const Argument& argument) {
            return std::any_of(argument.tensors.begin(), argument.tensors.end(),
                               [&](const TensorName& tensor) {
                                   return names.count(tensor.name) != 0 && (is_kernel || tensor.view);
                               });
        });
    };
    return std::any_of(run.sites.begin(), run.sites.end(), goes_by_them);
}

}  // namespace aoti_dbg

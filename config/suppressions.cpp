// The grammar of an entry is [nan in|inf in|args in|races in] KERNEL[ - ARGUMENT]. PyTorch's own lines use
// the same separator: `after_launch - kernel - argument`. Kernel names contain colons, commas and blanks, but
// no ` - `.
#include "config/suppressions.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/glob.hpp"
#include "config/words.hpp"

namespace aoti_dbg {
namespace {

constexpr std::string_view kIn = " in ";
constexpr std::string_view kSeparator = " - ";

bool takes(std::string_view pattern, std::string_view name) {
    return !name.empty() && (equal_ignoring_case(pattern, name) || glob_matches(pattern, name));
}

std::string_view without_comment(std::string_view line) {
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) return line.substr(0, i);
    }
    return line;
}

bool is_file(std::string_view entry) {
    return entry.find('/') != std::string_view::npos;
}

}  // namespace

Result<Suppressions::Entry> Suppressions::read_entry(std::string_view text) {
    Entry entry;
    const std::string_view whole = text;
    // Pad with blanks, so that a missing kind, kernel or argument is found as an empty one.
    const std::string padded = " " + std::string(text) + " ";
    text = padded;
    if (const std::size_t in = text.find(kIn); in != std::string_view::npos) {
        const std::string_view kind = trimmed(text.substr(0, in));
        const auto known = std::find_if(kFindingKinds.begin(), kFindingKinds.end(),
                                        [kind](auto each) { return equal_ignoring_case(kind, each); });
        if (known == kFindingKinds.end())
            return Status::error("unknown check " + quoted(kind) + " (use nan, inf, args or races)");
        entry.kind = *known;
        text = text.substr(in + kIn.size() - 1);
    }
    // Use the last separator, because an argument's name is a plain word.
    if (const std::size_t dash = text.rfind(kSeparator); dash != std::string_view::npos) {
        entry.argument = trimmed(text.substr(dash + kSeparator.size()));
        text = text.substr(0, dash);
    }
    entry.kernel = trimmed(text);
    if (entry.kernel.empty()) return Status::error("entry " + quoted(whole) + " names no kernel");
    return entry;
}

Status Suppressions::add_list(std::string_view text) {
    Suppressions added;
    for (const std::string_view piece : split_list(text, Commas::outside_brackets)) {
        if (is_file(piece)) {
            added.files_.emplace_back(piece);
            continue;
        }
        Result<Entry> entry = read_entry(piece);
        if (!entry.ok()) return entry.status();
        added.entries_.push_back(std::move(entry.value()));
    }
    std::move(added.entries_.begin(), added.entries_.end(), std::back_inserter(entries_));
    std::move(added.files_.begin(), added.files_.end(), std::back_inserter(files_));
    return {};
}

std::vector<std::string> Suppressions::add_lines(std::string_view text) {
    std::vector<std::string> faults;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        const std::string_view line = trimmed(without_comment(text.substr(0, end)));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        if (line.empty()) continue;
        // A line may have several entries, as a finding prints them if several outputs have it.
        for (const std::string_view piece : split_list(line, Commas::outside_brackets)) {
            Result<Entry> entry = read_entry(piece);
            if (entry.ok()) {
                entries_.push_back(std::move(entry.value()));
            } else {
                faults.push_back("line " + std::to_string(number) + ": " + entry.status().message() +
                                 ". The entry is ignored.");
            }
        }
    }
    return faults;
}

std::vector<std::string> Suppressions::plain_patterns() const {
    std::vector<std::string> patterns;
    for (const Entry& entry : entries_)
        if (entry.kind.empty() && entry.argument.empty()) patterns.push_back(entry.kernel);
    return patterns;
}

bool Suppressions::match(std::string_view kind, std::string_view kernel, std::string_view symbol,
                         std::string_view argument) const {
    return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return (entry.kind.empty() || entry.kind == kind) &&
               (takes(entry.kernel, kernel) || takes(entry.kernel, symbol)) &&
               (entry.argument.empty() || takes(entry.argument, argument));
    });
}

std::string suppression_for(std::string_view kind, std::string_view kernel, std::string_view argument) {
    std::string line(kind);
    line.append(kIn).append(kernel);
    if (!argument.empty()) line.append(kSeparator).append(argument);
    return line;
}

std::string anchored_suppressions(std::string_view value, const std::string& folder) {
    std::string anchored;
    for (const std::string_view piece : split_list(value, Commas::outside_brackets)) {
        if (!anchored.empty()) anchored += ',';
        if (is_file(piece) && piece.front() != '/') anchored += folder + "/";
        anchored += piece;
    }
    return anchored;
}

}  // namespace aoti_dbg

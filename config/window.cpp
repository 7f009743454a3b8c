// Python's slices, except what depends on the end.
#include "config/window.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <string>

#include "config/words.hpp"

namespace aoti_dbg {
namespace {

Status no_slice() {
    return Status::error("not a number or a slice");
}

/// A number beyond 64 bits counts as the largest one.
Result<std::uint64_t> bound(std::string_view text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const std::from_chars_result read = std::from_chars(text.data(), end, number);
    if (read.ptr != end || read.ec == std::errc::invalid_argument) return no_slice();
    return read.ec == std::errc::result_out_of_range ? UINT64_MAX : number;
}

}  // namespace

Result<Window> parse_window(std::string_view text) {
    Window window;
    const std::array<std::uint64_t*, 3> fields = {&window.begin, &window.end, &window.step};
    std::size_t field = 0;
    bool is_slice = false;
    std::string_view rest = text;
    while (true) {
        const std::size_t colon = rest.find(':');
        const std::string_view part = trimmed(rest.substr(0, colon));
        if (field == fields.size()) return no_slice();
        if (!part.empty()) {
            // Accept a minus only before digits: "-x" is not a slice.
            const bool from_end = part.front() == '-';
            const Result<std::uint64_t> number = bound(from_end ? part.substr(1) : part);
            if (!number.ok()) return number.status();
            if (from_end) return Status::error("a slice cannot count from the end");
            *fields[field] = number.value();
        } else if (colon == std::string_view::npos && !is_slice) {
            return no_slice();
        }
        if (colon == std::string_view::npos) break;
        is_slice = true;
        ++field;
        rest.remove_prefix(colon + 1);
    }
    if (window.step == 0) return Status::error("the step is 0");
    if (!is_slice && window.begin < UINT64_MAX) window.end = window.begin + 1;
    if (window.begin >= window.end) return Status::error("the slice is empty");
    return window;
}

}  // namespace aoti_dbg

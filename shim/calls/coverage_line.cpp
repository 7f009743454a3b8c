#include "shim/calls/coverage_line.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace aoti_dbg {

void CoverageLine::add(Section section, const char* format, ...) {
    if (section != section_) return;
    va_list arguments;
    va_start(arguments, format);
    const int written = vsnprintf(line_ + used_, sizeof line_ - used_, format, arguments);
    va_end(arguments);
    if (written > 0) used_ = std::min(sizeof line_ - 1, used_ + static_cast<std::size_t>(written));
}

void CoverageLine::count(const char* before, std::uint64_t number, const char* one, const char* many,
                         const char* name_in_events) {
    add(counts_, "%s%llu %s", before, static_cast<unsigned long long>(number), number == 1 ? one : many);
    if (name_in_events != nullptr) name(name_in_events, number);
}

void CoverageLine::rest(std::uint64_t number, const char* what, const char* name_in_events) {
    if (number != 0) count("; ", number, what, what);
    if (name_in_events != nullptr) name(name_in_events, number);
}

void CoverageLine::text(const char* text) {
    add(counts_, "%s", text);
}

void CoverageLine::name(const char* name, std::uint64_t number) {
    if (section_ == Section::counts && named_count_ < named_.size()) named_[named_count_++] = {name, number};
}

void CoverageLine::loss(std::uint64_t number, const char* one, const char* many) {
    if (number != 0)
        add(Section::losses, "; %llu %s", static_cast<unsigned long long>(number), number == 1 ? one : many);
}

void CoverageLine::file(const char* what, const char* path, Section section) {
    if (path != nullptr) add(section, "; %s: %s", what, path);
}

}  // namespace aoti_dbg

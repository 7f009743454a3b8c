#include "shim/save/save_progress.hpp"

#include <algorithm>

#include "config/byte_size.hpp"

namespace aoti_dbg {

void SavingPace::note(const SaveProgress& progress, std::uint64_t nanoseconds) {
    moments_[noted_++ % moments_.size()] = {progress, nanoseconds};
}

double SavingPace::seconds() const {
    return noted_ == 0 ? 0 : static_cast<double>(last().nanoseconds - first().nanoseconds) * 1e-9;
}

double SavingPace::written_per_second() const {
    if (seconds() <= 0) return 0;
    return static_cast<double>(last().progress.bytes - first().progress.bytes) / seconds();
}

std::uint64_t SavingPace::seconds_left() const {
    if (seconds() <= 0 || last().progress.bytes_left == 0) return 0;
    const std::uint64_t handled = last().progress.bytes_handled - first().progress.bytes_handled;
    if (handled == 0) return 0;
    const double left =
        static_cast<double>(last().progress.bytes_left) / static_cast<double>(handled) * seconds();
    constexpr double kLongest = 1e9;
    return 1 + static_cast<std::uint64_t>(std::min(left, kLongest));
}

ProgressText& ProgressText::add(std::string_view text) {
    const std::size_t bytes = std::min(text.size(), text_.size() - 1 - length_);
    std::copy_n(text.begin(), bytes, text_.begin() + static_cast<std::ptrdiff_t>(length_));
    length_ += bytes;
    return *this;
}

ProgressText& ProgressText::add_number(std::uint64_t number) {
    char digits[27];  // 20 digits and their commas
    char* const end = digits + sizeof digits;
    char* at = end;
    int count = 0;
    do {
        if (count != 0 && count % 3 == 0) *--at = ',';
        *--at = static_cast<char>('0' + number % 10);
        number /= 10;
        ++count;
    } while (number != 0);
    return add({at, static_cast<std::size_t>(end - at)});
}

ProgressText& ProgressText::add_bytes(std::uint64_t bytes) {
    // At most 13 characters, for which std::string does not allocate.
    return add(byte_size_text(bytes));
}

ProgressText& ProgressText::add_tensors(std::uint64_t number) {
    return add_number(number).add(number == 1 ? " tensor" : " tensors");
}

ProgressText& ProgressText::add_seconds(std::uint64_t seconds) {
    constexpr std::uint64_t kFewMinutes = 100;
    if (seconds == 0) return *this;
    if (seconds < kFewMinutes) return add("about ").add_number(seconds).add(" s");
    const std::uint64_t minutes = (seconds + 30) / 60;
    if (minutes < kFewMinutes) return add("about ").add_number(minutes).add(" min");
    return add("about ").add_number((minutes + 30) / 60).add(" h");
}

ProgressText& add_saved(ProgressText& text, const SaveProgress& progress, const SavingPace& pace) {
    text.add_tensors(progress.files).add(" saved");
    if (progress.linked != 0) text.add(" (").add_number(progress.linked).add(" linked)");
    text.add(", ").add_bytes(progress.bytes - std::min(progress.bytes, progress.bytes_removed));
    const auto rate = static_cast<std::uint64_t>(pace.written_per_second());
    if (rate != 0) text.add(", ").add_bytes(rate).add("/s");
    return text;
}

ProgressText& add_left(ProgressText& text, const SaveProgress& progress, const SavingPace& pace) {
    text.add_tensors(progress.jobs_left);
    if (progress.bytes_left != 0) text.add(", ").add_bytes(progress.bytes_left);
    text.add(" to go");
    const std::uint64_t seconds = pace.seconds_left();
    if (seconds != 0) text.add(", ").add_seconds(seconds);
    return text;
}

}  // namespace aoti_dbg

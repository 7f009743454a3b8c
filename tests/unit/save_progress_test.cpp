// The progress messages of a long save: nothing unknown, and no invalid number.
#include "shim/save/save_progress.hpp"

#include <string>

#include "tests/support/catch.hpp"

using namespace aoti_dbg;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

std::string saved(const SaveProgress& progress, const SavingPace& pace = {}) {
    ProgressText text;
    return std::string(add_saved(text, progress, pace).text());
}

std::string left(const SaveProgress& progress, const SavingPace& pace = {}) {
    ProgressText text;
    return std::string(add_left(text, progress, pace).text());
}

std::string seconds(std::uint64_t number) {
    ProgressText text;
    return std::string(text.add_seconds(number).text());
}

}  // namespace

TEST_CASE("Unknown facts are left out") {
    CHECK(saved({}) == "0 tensors saved, 0 B");
    CHECK(left({}) == "0 tensors to go");
    SaveProgress progress;
    progress.files = 1;
    progress.jobs_left = 1;
    progress.bytes_left = 100;
    SavingPace pace;
    pace.note(progress, kSecond);
    CHECK(saved(progress, pace) == "1 tensor saved, 0 B");
    CHECK(left(progress, pace) == "1 tensor, 100 B to go");
    // The same time, and a disk without progress.
    pace.note(progress, kSecond);
    CHECK(left(progress, pace) == "1 tensor, 100 B to go");
    pace.note(progress, 9 * kSecond);
    CHECK(saved(progress, pace) == "1 tensor saved, 0 B");
    CHECK(left(progress, pace) == "1 tensor, 100 B to go");
}

TEST_CASE("The longest possible numbers make a line that ends within its room") {
    SaveProgress progress;
    progress.files = progress.linked = progress.bytes = progress.jobs_left = progress.bytes_left = UINT64_MAX;
    CHECK(saved(progress) ==
          "18,446,744,073,709,551,615 tensors saved (18,446,744,073,709,551,615 linked), "
          "18446744.1 TB");
    ProgressText text;
    for (int i = 0; i < 10; ++i)
        add_saved(text, progress, {});
    CHECK(text.text().size() == 255);
    CHECK(std::string(text.c_str()) == text.text());
}

TEST_CASE("Numbers, sizes, rate and remaining time have a readable form") {
    SaveProgress progress;
    SavingPace pace;
    pace.note(progress, kSecond);
    progress.files = 1204;
    progress.linked = 880;
    progress.bytes = 3'400'000'000;
    progress.jobs_left = 312;
    progress.bytes_left = 4'100'000'000;
    progress.bytes_handled = 3'400'000'000;
    pace.note(progress, 3 * kSecond);
    CHECK(saved(progress, pace) == "1,204 tensors saved (880 linked), 3.4 GB, 1.7 GB/s");
    CHECK(left(progress, pace) == "312 tensors, 4.1 GB to go, about 3 s");
}

TEST_CASE("The remaining time depends on handled bytes, linked tensors included") {
    SaveProgress progress;
    SavingPace pace;
    pace.note(progress, kSecond);
    progress.jobs_left = 5;
    progress.bytes_left = 1000;
    progress.bytes_handled = 500;
    pace.note(progress, 2 * kSecond);
    CHECK(left(progress, pace) == "5 tensors, 1.0 kB to go, about 3 s");
}

TEST_CASE("The pace is that of the last seconds, not of the start, and can be reset") {
    SaveProgress progress;
    SavingPace pace;
    pace.note(progress, 0);
    progress.bytes = 1'000'000'000'000;  // in one moment
    for (std::uint64_t i = 1; i <= 20; ++i) {
        progress.bytes += 1000;
        pace.note(progress, i * kSecond);
    }
    CHECK(pace.written_per_second() == 1000);
    pace.forget();
    CHECK(pace.written_per_second() == 0);
    CHECK(pace.seconds_left() == 0);
    pace.note(progress, 21 * kSecond);
    CHECK(pace.written_per_second() == 0);
}

TEST_CASE("Long times have units of their own") {
    CHECK(seconds(1) == "about 1 s");
    CHECK(seconds(99) == "about 99 s");
    CHECK(seconds(100) == "about 2 min");
    CHECK(seconds(5969) == "about 99 min");
    CHECK(seconds(6000) == "about 2 h");
    CHECK(seconds(1'000'000'001) == "about 277,778 h");
    CHECK(seconds(0).empty());
}

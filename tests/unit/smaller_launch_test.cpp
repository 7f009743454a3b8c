// Smaller copies of a captured launch: their grid, their tensors, and the bundle that they become.
#include "cli/replay/smaller_launch.hpp"

#include <cstring>

#include "cli/replay/smaller_contents.hpp"
#include "tests/unit/bundle_fixture.hpp"

namespace aoti_dbg::cli::smaller_launch_test {
namespace {

using namespace bundles;

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

SavedContents contents_of(const PtCase& saved) {
    Result<SavedContents> contents = SavedContents::read(in_memory(whole_file(saved)));
    REQUIRE(contents.ok());
    return std::move(contents.value());
}

PtCase floats(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
              const std::vector<float>& storage) {
    PtCase saved{"", DType::float32, std::move(sizes), std::move(strides), 0, {}, "cuda:0"};
    const auto bytes = std::as_bytes(std::span(storage));
    saved.storage.assign(bytes.begin(), bytes.end());
    return saved;
}

std::vector<std::byte> bytes_of(float number) {
    std::vector<std::byte> bytes(sizeof number);
    std::memcpy(bytes.data(), &number, sizeof number);
    return bytes;
}

std::vector<float> storage_of(const FileContents& file) {
    const Result<PtView> view = read_pt(file.bytes);
    REQUIRE(view.ok());
    std::vector<float> numbers(view.value().storage.size() / sizeof(float));
    std::memcpy(numbers.data(), view.value().storage.data(), view.value().storage.size());
    return numbers;
}

/// The rows 1, 2, 3 and 4, 5, 6.
const std::vector<float> kTransposed = {1, 4, 2, 5, 3, 6};

TEST_CASE("Constants to try are zero, the minimum, the maximum and the first element") {
    const SavedContents saved = contents_of(floats({4}, {1}, {3, -1, 7, 3}));
    CHECK(saved.candidates() == std::vector{bytes_of(0), bytes_of(-1), bytes_of(7), bytes_of(3)});
    CHECK_FALSE(saved.constant());
    CHECK(saved.text_of(bytes_of(-1.5)) == "-1.5");
    const SavedContents equal = contents_of(floats({3}, {1}, {2, 2, 2}));
    CHECK(equal.candidates() == std::vector{bytes_of(0), bytes_of(2)});
    CHECK(equal.constant() == bytes_of(2));
    CHECK(contents_of(floats({2, 3}, {0, 0}, {5})).constant() == bytes_of(5));
}

TEST_CASE("Each dtype has constants with a text") {
    for (const PtCase& saved : aoti_dbg::test::pt_cases()) {
        if (element_count(saved.sizes) == 0 || element_count(saved.sizes) > 100'000) continue;
        const SavedContents contents = contents_of(saved);
        CAPTURE(saved.name, dtype_name(saved.dtype));
        for (const std::vector<std::byte>& candidate : contents.candidates()) {
            CHECK(candidate.size() == element_size(saved.dtype));
            CHECK_FALSE(contents.text_of(candidate).empty());
        }
    }
}

TEST_CASE("A constant tensor has a small file of the same shape") {
    const SavedContents saved = contents_of(floats({2, 3}, {1, 2}, kTransposed));
    const FileContents file = saved.filled_with(bytes_of(7));
    const Result<PtView> view = read_pt(file.bytes);
    REQUIRE(view.ok());
    CHECK(view.value().sizes == std::vector<std::int64_t>{2, 3});
    CHECK(view.value().strides == std::vector<std::int64_t>{0, 0});
    CHECK(view.value().device == "cuda:0");
    CHECK(storage_of(file) == std::vector<float>{7});
}

TEST_CASE("Other rows become zero, whatever the layout is") {
    const SavedContents transposed = contents_of(floats({2, 3}, {1, 2}, kTransposed));
    CHECK(transposed.rows() == Rows{0, 1});
    CHECK(storage_of(transposed.with_rows({1})) == std::vector<float>{0, 4, 0, 5, 0, 6});
    const SavedContents part_zero = contents_of(floats({3, 2}, {2, 1}, {0, 0, 0, 1, 2, 0}));
    CHECK(part_zero.rows() == Rows{1, 2});
    CHECK(storage_of(part_zero.with_rows({2})) == std::vector<float>{0, 0, 0, 0, 2, 0});
    // A scalar and an expanded tensor have no rows of their own.
    CHECK(contents_of(floats({}, {}, {1})).rows().empty());
    CHECK(contents_of(floats({3}, {0}, {1})).rows().empty());
}

TEST_CASE("A smaller launch becomes a bundle without results") {
    const Recorded recorded;
    const LaunchFile original = recorded.launches()[1];
    Result<SmallerLaunch> copy = SmallerLaunch::copy_of(original, std::nullopt);
    REQUIRE(copy.ok());
    SmallerLaunch& smaller = copy.value();
    CHECK(render_launch(smaller.file().launch) == render_launch(original.launch));
    smaller.set_grid({3, 2, 1});
    // In the recording, this file is also that of other calls.
    const Result<SavedContents> saved = SavedContents::read(*smaller.contents(0));
    REQUIRE(saved.ok());
    smaller.set_contents(0, saved.value().filled_with(bytes_of(0)));

    const Result<BundleContents> contents = bundle_contents({smaller.file()}, false, "1.2.3");
    REQUIRE(contents.ok());
    REQUIRE(write_bundle(recorded.bundle_path(), contents.value(), *smaller.file().files).ok());
    const Result<std::vector<LaunchFile>> written = launches_of(recorded.bundle_path());
    REQUIRE(written.ok());
    REQUIRE(written.value().size() == 1);
    const LaunchFile& file = written.value().front();
    CHECK(file.launch.grid == std::array<std::uint32_t, 3>{3, 2, 1});
    CHECK(image_of(file).value() == image_of(original).value());
    TensorFiles tensors(file.events, file.files);
    for (const LaunchTensor& tensor : file.launch.tensors) {
        const auto at = [&](EventSide side) {
            return tensors.saved_at({side, file.launch.run, file.launch.call, tensor.position, tensor.label});
        };
        REQUIRE(at(EventSide::before));
        const bool is_constant = tensor.label == file.launch.tensors[0].label;
        CHECK(contains(at(EventSide::before)->line, R"("saved_storage_bytes":4})") == is_constant);
        CHECK_FALSE(at(EventSide::after));
    }
    CHECK_FALSE(contains(read_text(recorded.bundle_path()), R"("hash")"));
    // The recording is as it was.
    CHECK(recorded.launches()[1].launch.grid == std::array<std::uint32_t, 3>{1, 1, 1});
}

TEST_CASE("A smaller launch may have other code") {
    const Recorded recorded;
    const Result<SmallerLaunch> copy = SmallerLaunch::copy_of(recorded.launches()[0], "other code");
    REQUIRE(copy.ok());
    CHECK(image_of(copy.value().file()).value() == "other code");
}

}  // namespace
}  // namespace aoti_dbg::cli::smaller_launch_test

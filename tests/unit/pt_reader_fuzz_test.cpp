// Feeds damaged `.pt` files and endless pickles to their reader, with fixed random numbers. Meant for the
// sanitizer builds; other builds still check what must hold for any result.
#include <algorithm>
#include <cstring>
#include <string>

#include "serializer/pickle_reader.hpp"
#include "serializer/pt_reader.hpp"
#include "serializer/zip_writer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/pt_cases.hpp"

namespace aoti_dbg::pt_reader_fuzz_test {
namespace {

using namespace test;

constexpr int kRounds = 60000;

/// Returns whether it was read. Reads only what the view gives, which must lie in the file.
bool check(std::string_view bytes, PtCheck checks) {
    // A copy of exactly its size, so that a sanitizer sees any read beyond it.
    const std::vector<char> file(bytes.begin(), bytes.end());
    const Result<PtView> read = read_pt(std::as_bytes(std::span(file)), checks);
    if (!read.ok()) {
        REQUIRE_FALSE(read.status().message().empty());
        REQUIRE(read.status().message().size() < 600);
        return false;
    }
    const PtView& view = read.value();
    REQUIRE(view.sizes.size() <= kMaxRank);
    REQUIRE(view.sizes.size() == view.strides.size());
    if (!view.storage.empty()) {
        const auto* first = reinterpret_cast<const char*>(view.storage.data());
        REQUIRE(first >= file.data());
        REQUIRE(first + view.storage.size() <= file.data() + file.size());
    }
    std::int64_t last = view.storage_offset;
    for (std::size_t d = 0; d < view.sizes.size(); ++d) {
        REQUIRE(view.sizes[d] >= 0);
        REQUIRE(view.strides[d] >= 0);
        if (view.sizes[d] == 0) return true;
        last += (view.sizes[d] - 1) * view.strides[d];
    }
    REQUIRE(static_cast<std::uint64_t>(last + 1) * element_size(view.dtype) <= view.storage.size());
    return true;
}

std::string text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Small files, in which most bytes matter.
std::vector<std::string> whole_files() {
    std::vector<std::string> files;
    for (const PtCase& saved : pt_cases())
        if (saved.storage.size() < 64) files.push_back(text_of(whole_file(saved)));
    return files;
}

std::vector<std::string> pickles() {
    std::vector<std::string> pickles;
    for (const PtCase& saved : pt_cases()) {
        // The first record's content.
        const std::string head = text_of(pt_frame(saved.tensor(), 0).head).substr(kPtAlignment);
        pickles.push_back(head.substr(0, head.find("PK\x07\x08")));
    }
    return pickles;
}

/// Mostly avoids padding, which the reader ignores.
std::size_t place_in(const std::string& text, Random& random) {
    std::size_t place = random.below(text.size());
    for (int tries = 0; tries < 4 && text[place] == 'Z'; ++tries)
        place = random.below(text.size());
    return place;
}

void damage(std::string& text, const std::string& other, Random& random) {
    static constexpr std::string_view kSpice("\0\1\x7f\x80\x81\x85\x8a\xff(tRQXqhjrKJc.)P", 23);
    if (text.empty()) text = other;
    const std::size_t place = place_in(text, random);
    switch (random.below(7)) {
        case 0:
            text[place] = kSpice[random.below(kSpice.size())];
            break;
        case 1:
            text[place] = static_cast<char>(random.below(256));
            break;
        case 2:
            text[place] = static_cast<char>(text[place] ^ (1 << random.below(8)));
            break;
        case 3: {
            // Wrong offsets and lengths are what leads out of a file.
            const std::uint64_t number =
                random.one_in(2) ? ~std::uint64_t{0} >> random.below(64) : random.below(4096);
            const std::size_t bytes = std::size_t{1} << random.below(4);
            std::memcpy(text.data() + place, &number, std::min(bytes, text.size() - place));
            break;
        }
        case 4:
            if (random.one_in(4)) text.erase(place, 1 + random.below(200));
            break;
        case 5: {
            const std::string piece = other.substr(random.below(other.size()), 200);
            if (random.one_in(4)) text.insert(place, piece);
            break;
        }
        default: {
            // The bytes in the same place of another file.
            const std::string piece = other.substr(std::min(place, other.size()), random.below(64));
            text.replace(place, piece.size(), piece);
        }
    }
    if (text.size() > 8192) text.resize(8192);
}

TEST_CASE("Damaged files are read without harm, and the results lie within them") {
    Random random;
    const std::vector<std::string> whole = whole_files();
    std::string file;
    int read = 0;
    for (int round = 0; round < kRounds; ++round) {
        if (round % 6 == 0) file = whole[random.below(whole.size())];
        damage(file, whole[random.below(whole.size())], random);
        if (check(file, PtCheck::all_but_checksums)) ++read;
        if (random.one_in(8)) check(file, PtCheck::everything);
    }
    // Otherwise only the first steps would have been tested.
    CHECK(read > kRounds / 20);
}

std::string archive_of(std::string_view pickle) {
    ZipWriter archive("archive", 1);
    archive.add("data.pkl", pickle);
    archive.add("data/0", "0123456789abcdef");
    archive.finish();
    return text_of(archive.take());
}

TEST_CASE("Damaged pickles in valid archives are read without harm") {
    Random random;
    const std::vector<std::string> whole = pickles();
    std::string pickle;
    for (int round = 0; round < kRounds; ++round) {
        if (round % 6 == 0) pickle = whole[random.below(whole.size())];
        damage(pickle, whole[random.below(whole.size())], random);
        check(archive_of(pickle), PtCheck::everything);
    }
}

TEST_CASE("Under endless repetition a pickle is read to its end or refused") {
    const std::string piece = GENERATE("N", "(", ")", "}", "]", "K\x01", "J\xff\xff\xff\xff", "\x8a\x01\x01",
                                       "Nq\x01", "(t", "(((", "N\x85", "NN\x86", "ca\nb\n", "c\n\n", ")R",
                                       "}(NNu", "](Ne", "}NNs", "X\x01", "h\x01", "NQ", ")b", "\x88");
    CAPTURE(piece);
    for (const std::string_view before :
         {std::string_view("("), std::string_view("}("), std::string_view("Nq\0", 3)}) {
        std::string pickle(before);
        while (pickle.size() + piece.size() + 2 < Pickle::kLargest)
            pickle += piece;
        for (const char* end : {"t.", "u.", "."})
            check(archive_of(pickle + end), PtCheck::everything);
    }
}

TEST_CASE("Random bytes are read without harm") {
    Random random;
    for (int round = 0; round < 2000; ++round) {
        std::string file;
        for (std::size_t length = random.below(3000); length > 0; --length)
            file.push_back(static_cast<char>(random.below(256)));
        check(file, PtCheck::everything);
        // It starts and ends like an archive.
        check("PK" + file + std::string("PK\5\6\0\0\0\0", 8) + file.substr(0, 12) + std::string(2, '\0'),
              PtCheck::everything);
    }
}

}  // namespace
}  // namespace aoti_dbg::pt_reader_fuzz_test

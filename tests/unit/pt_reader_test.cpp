// `.pt` files written and read back, without torch; tests/models/pt_test.py uses torch. Files that are torn,
// damaged or contain something else give a message that says so.
#include "serializer/pt_reader.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "serializer/pickle_reader.hpp"
#include "serializer/pickle_writer.hpp"
#include "serializer/zip_reader.hpp"
#include "serializer/zip_writer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/pt_cases.hpp"

namespace aoti_dbg::pt_reader_test {
namespace {

using namespace test;
using Bytes = std::vector<std::byte>;

std::string complaint(std::span<const std::byte> file) {
    const Result<PtView> view = read_pt(file);
    return view.ok() ? "" : view.status().message();
}

bool says(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

PtCase three_floats() {
    PtCase saved;
    saved.dtype = DType::float32;
    saved.sizes = {3};
    saved.strides = {1};
    saved.storage = {12, std::byte{0x3f}};
    return saved;
}

/// An archive with that pickle, and twelve bytes for its storage.
Bytes with_pickle(std::string_view pickle, std::string_view byte_order = "little") {
    ZipWriter archive("archive", kPtAlignment);
    archive.add("data.pkl", pickle);
    archive.add("byteorder", byte_order);
    archive.add("data/0", "twelve bytes");
    archive.finish();
    return archive.take();
}

/// The differences from a plain tensor of three floats.
struct Odd {
    const char* function = "_rebuild_tensor_v2";
    const char* storage_class = "FloatStorage";
    const char* key = "0";
    std::int64_t elements = 3;
    std::int64_t offset = 0;
    std::vector<std::int64_t> sizes = {3};
    std::vector<std::int64_t> strides = {1};
    const char* metadata = nullptr;  // the key of its one entry
};

void pickle_tensor(PickleWriter& pickle, const Odd& odd) {
    pickle.global("torch._utils", odd.function);
    pickle.op(PickleOp::mark);
    pickle.op(PickleOp::mark);
    pickle.text("storage");
    pickle.global("torch", odd.storage_class);
    pickle.text(odd.key);
    pickle.text("cpu");
    pickle.integer(odd.elements);
    pickle.remembered(PickleOp::tuple);
    pickle.op(PickleOp::persistent_id);
    pickle.integer(odd.offset);
    pickle.integers(odd.sizes);
    pickle.integers(odd.strides);
    pickle.op(PickleOp::new_false);
    pickle.op(PickleOp::none);
    if (odd.metadata != nullptr) {
        pickle.op(PickleOp::empty_dict);
        pickle.text(odd.metadata);
        pickle.op(PickleOp::new_true);
        pickle.op(PickleOp::set_item);
    }
    pickle.remembered(PickleOp::tuple);
    pickle.remembered(PickleOp::reduce);
}

Bytes file_of(const Odd& odd) {
    PickleWriter pickle;
    pickle_tensor(pickle, odd);
    return with_pickle(pickle.finish());
}

TEST_CASE("A saved tensor is read back, whatever its dtype and layout") {
    for (const PtCase& saved : pt_cases()) {
        CAPTURE(saved.name);
        const Bytes file = whole_file(saved);
        const Result<PtView> read = read_pt(file);
        if (!read.ok()) FAIL(read.status().message());
        const PtView& view = read.value();
        REQUIRE(view.dtype == saved.dtype);
        REQUIRE(view.sizes == saved.sizes);
        REQUIRE(view.strides == saved.strides);
        REQUIRE(view.storage_offset == saved.offset);
        REQUIRE(view.device == saved.device);
        REQUIRE(
            std::equal(view.storage.begin(), view.storage.end(), saved.storage.begin(), saved.storage.end()));
        REQUIRE((view.storage.data() - file.data()) % kPtAlignment == 0);
    }
}

TEST_CASE("The head does not depend on the checksum, so it can be written first") {
    const PtCase saved = three_floats();
    CHECK(pt_frame(saved.tensor(), 0).head == pt_frame(saved.tensor(), 0xffffffff).head);
    CHECK(pt_frame(saved.tensor(), 0).tail != pt_frame(saved.tensor(), 0xffffffff).tail);
}

TEST_CASE("A file that ends early is refused") {
    const Bytes whole = whole_file(three_floats());
    for (std::size_t length = 0; length < whole.size(); ++length) {
        CAPTURE(length);
        REQUIRE_FALSE(read_pt(std::span(whole).first(length)).ok());
    }
    CHECK(says(complaint(std::span(whole).first(whole.size() - 1)), "truncated"));
    CHECK(says(complaint({}), "not a .pt file"));
}

TEST_CASE("A single altered bit of the tensor or of its pickle is noticed") {
    const PtCase saved = three_floats();
    const Bytes whole = whole_file(saved);
    const std::size_t data = pt_frame(saved.tensor(), 0).head.size();
    Bytes file = whole;
    file[data + 5] ^= std::byte{1};
    CHECK(says(complaint(file), "the checksum of its data is wrong"));
    CHECK(read_pt(file, PtCheck::all_but_checksums).ok());
    file = whole;
    file[64 + 100] ^= std::byte{1};
    CHECK(says(complaint(file), "the checksum of its pickle is wrong"));
}

TEST_CASE("A file of more than 4 GiB is written and read, and checksums are optional") {
    const std::uint64_t bytes = GENERATE(0xfffffd00ULL, 0xfffffdc0ULL, 0xffffffffULL, 0x100000040ULL);
    CAPTURE(bytes);
    const auto size = static_cast<std::int64_t>(bytes);
    const std::int64_t one = 1;
    const PtTensor tensor{DType::uint8, {&size, 1}, {&one, 1}, 0, bytes, "cpu"};
    const PtFrame frame = pt_frame(tensor, crc32_of_zeros(bytes));
    const std::size_t whole = frame.head.size() + bytes + frame.tail.size();
    // Untouched pages cost nothing.
    void* memory =
        mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    auto* file = static_cast<std::byte*>(memory);
    std::copy(frame.head.begin(), frame.head.end(), file);
    std::copy(frame.tail.begin(), frame.tail.end(), file + frame.head.size() + bytes);
    const Result<PtView> read = read_pt({file, whole}, PtCheck::all_but_checksums);
    CHECK(read.ok());
    if (read.ok()) {
        CHECK(read.value().storage.data() == file + frame.head.size());
        CHECK(read.value().storage.size() == bytes);
        CHECK(read.value().sizes == std::vector{size});
    }
    munmap(memory, whole);
}

TEST_CASE("The wrappers that torch.save() puts around a tensor are removed") {
    SECTION("a Parameter") {
        PickleWriter pickle;
        pickle.global("torch._utils", "_rebuild_parameter");
        pickle_tensor(pickle, {});
        pickle.op(PickleOp::new_true);
        pickle.op(PickleOp::none);
        pickle.remembered(PickleOp::tuple3);
        pickle.remembered(PickleOp::reduce);
        CHECK(complaint(with_pickle(pickle.finish())).empty());
    }
    SECTION("a Parameter nested endlessly") {
        PickleWriter pickle;
        for (int i = 0; i < 1000; ++i)
            pickle.global("torch._utils", "_rebuild_parameter");
        pickle_tensor(pickle, {});
        for (int i = 0; i < 1000; ++i) {
            pickle.remembered(PickleOp::tuple1);
            pickle.remembered(PickleOp::reduce);
        }
        CHECK(says(complaint(with_pickle(pickle.finish())), "expected a plain tensor"));
    }
}

TEST_CASE("An object that is not a tensor is named") {
    const auto of = [](auto write) {
        PickleWriter pickle;
        write(pickle);
        return complaint(with_pickle(pickle.finish()));
    };
    CHECK(says(of([](PickleWriter& p) {
                   p.op(PickleOp::empty_dict);
                   p.op(PickleOp::mark);
                   for (int i = 0; i < 3; ++i) {
                       p.integer(i);
                       p.op(PickleOp::none);
                   }
                   p.op(PickleOp::set_items);
               }),
               "expected a plain tensor, got a dict of 3 entries. Save one tensor by itself"));
    CHECK(says(of([](PickleWriter& p) {
                   p.op(PickleOp::empty_list);
                   p.integer(1);
                   p.op(PickleOp::append);
               }),
               "got a list of 1 entry."));
    CHECK(says(of([](PickleWriter& p) {
                   p.global("collections", "OrderedDict");
                   p.op(PickleOp::empty_tuple);
                   p.op(PickleOp::reduce);
               }),
               "got a dict (OrderedDict)"));
    CHECK(says(of([](PickleWriter& p) {
                   p.global("os", "system\x1b[31m");
                   p.text("rm -rf /");
                   p.op(PickleOp::tuple1);
                   p.op(PickleOp::reduce);
               }),
               "got the result of os.system?[31m()"));
    CHECK(says(of([](PickleWriter& p) { p.text("x"); }), "got a string"));
    CHECK(says(of([](PickleWriter& p) { p.integers({}); }), "got a tuple"));
    CHECK(says(of([](PickleWriter& p) { p.op(PickleOp::none); }), "got None"));
    CHECK(says(complaint(file_of({.function = "_rebuild_sparse_tensor"})),
               "the result of torch._utils._rebuild_sparse_tensor()"));
    CHECK(says(complaint(file_of({.metadata = "lazy"})), "a tensor with unknown metadata"));
    CHECK(complaint(file_of({.metadata = "conj"})).empty());
    CHECK(says(complaint(file_of({.storage_class = "QInt8Storage"})), "unknown dtype torch.QInt8Storage"));
}

TEST_CASE("A tensor beyond its storage is refused, even with numbers that overflow") {
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    CHECK(complaint(file_of({})).empty());
    CHECK(complaint(file_of({.sizes = {3, most}, .strides = {0, 0}})).find("beyond its storage") !=
          std::string::npos);
    for (const Odd& odd :
         {Odd{.sizes = {4}},
          Odd{.offset = 1},
          Odd{.offset = most},
          Odd{.offset = -1},
          Odd{.sizes = {-1}},
          Odd{.sizes = {2}, .strides = {3}},
          Odd{.sizes = {2, 2}, .strides = {2, 1}},
          Odd{.strides = {-1}},
          Odd{.sizes = {3, 1}, .strides = {1}},
          Odd{.sizes = {2}, .strides = {most}},
          Odd{.sizes = {2, 2, 3}, .strides = {most, most, 1}},
          Odd{.offset = 2, .strides = {-1}},
          Odd{.sizes = {-1}, .strides = {0}},
          Odd{.sizes = {most, most}, .strides = {most, most}},
          Odd{.elements = 4},
          Odd{.elements = most},
          Odd{.elements = -1},
          Odd{.elements = 2},
          Odd{.key = "1"},
          Odd{.key = "../data.pkl"},
          Odd{.sizes = std::vector<std::int64_t>(65, 1), .strides = std::vector<std::int64_t>(65, 1)}}) {
        CAPTURE(odd.key, odd.elements, odd.offset, odd.sizes, odd.strides);
        CHECK_FALSE(complaint(file_of(odd)).empty());
    }
    CHECK(complaint(file_of({.sizes = {0, most, most}, .strides = {most, 1, 1}})).empty());
}

TEST_CASE("A tensor with missing parts is refused") {
    PickleWriter pickle;
    pickle.global("torch._utils", "_rebuild_tensor_v2");
    const char* expected = "";
    SECTION("all arguments but one") {
        pickle.op(PickleOp::none);
        pickle.op(PickleOp::tuple1);
        expected = "too few arguments";
    }
    SECTION("all members of a storage's id") {
        pickle.op(PickleOp::mark);
        pickle.text("storage");
        pickle.op(PickleOp::tuple1);
        pickle.op(PickleOp::persistent_id);
        for (int i = 0; i < 5; ++i)
            pickle.op(PickleOp::none);
        pickle.op(PickleOp::tuple);
        expected = "not a tuple of five";
    }
    SECTION("the storage") {
        pickle.op(PickleOp::mark);
        for (int i = 0; i < 6; ++i)
            pickle.op(PickleOp::none);
        pickle.op(PickleOp::tuple);
        expected = "without a storage";
    }
    SECTION("the tuple of arguments") {
        pickle.op(PickleOp::none);
        expected = "expected a plain tensor";
    }
    pickle.op(PickleOp::reduce);
    const std::string message = complaint(with_pickle(pickle.finish()));
    CAPTURE(message);
    CHECK(says(message, expected));
}

TEST_CASE("A file from a machine with the other byte order is refused") {
    PickleWriter pickle;
    pickle_tensor(pickle, {});
    CHECK(says(complaint(with_pickle(pickle.finish(), "big")), "another byte order"));
}

TEST_CASE("An archive of something else is named as such") {
    ZipWriter archive("folder", 1);
    archive.add("readme.txt", "hello");
    archive.finish();
    CHECK(says(complaint(archive.take()), "it has no record data.pkl"));
    const std::string old_form =
        "\x80\x02\x8a\nl\xfc\x9c"
        "F\xf9 j\xa8P\x19.";
    CHECK(says(complaint(std::as_bytes(std::span(old_form))), "not a .pt file"));
}

TEST_CASE("A compressed or encrypted record is refused with what to do about it") {
    Bytes file = whole_file(three_floats());
    const auto change = [&file](std::size_t offset_in_entry, std::byte to) {
        // The first entry of the directory is the pickle's.
        const std::uint32_t magic = zip::kEntryMagic;
        std::byte pattern[sizeof magic];
        std::memcpy(pattern, &magic, sizeof magic);
        auto entry = std::search(file.begin(), file.end(), std::begin(pattern), std::end(pattern));
        REQUIRE(entry != file.end());
        *(entry + static_cast<std::ptrdiff_t>(offset_in_entry)) = to;
    };
    SECTION("compressed") {
        change(offsetof(zip::DirectoryEntry, method), std::byte{8});
        CHECK(says(complaint(file), "zip -0"));
    }
    SECTION("encrypted") {
        change(offsetof(zip::DirectoryEntry, flags), std::byte{zip::kEncrypted});
        CHECK(says(complaint(file), "Decrypt it"));
    }
}

TEST_CASE("Integers of every length are written and read unchanged") {
    std::vector<std::int64_t> values;
    for (int bit = 0; bit < 64; ++bit)
        for (const int near : {-1, 0, 1}) {
            const auto value =
                static_cast<std::int64_t>((std::uint64_t{1} << bit) + static_cast<std::uint64_t>(near));
            values.push_back(value);
            values.push_back(static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(value)));
        }
    PickleWriter writer;
    writer.integers(values);
    const std::string bytes = writer.finish();
    const Result<Pickle> pickle = Pickle::read(bytes);
    REQUIRE(pickle.ok());
    const PickleValue& tuple = pickle.value().result();
    REQUIRE(tuple.items == values.size());
    for (std::uint32_t i = 0; i < tuple.items; ++i)
        REQUIRE(pickle.value().item(tuple, i).number == values[i]);
}

TEST_CASE("Pickles that use too much, or something that does not exist, are refused") {
    const auto refused = [](std::string_view pickle) { return !Pickle::read(pickle).ok(); };
    CHECK(refused(""));
    CHECK(refused("."));
    CHECK(refused("NN."));
    CHECK(refused("(N."));
    CHECK(refused("N"));
    CHECK(refused("t."));
    CHECK(refused("R."));
    CHECK(refused("NR."));
    CHECK(refused("N(R."));
    CHECK(refused("u."));
    CHECK(refused("(u."));
    CHECK(refused("Nr\xff\xff\xff\xff."));
    CHECK(refused("h\x05."));
    CHECK(refused("X\xff\xff\xff\x7f."));
    CHECK(refused("cos\nsystem"));
    CHECK(refused("\x8a\x09zzzzzzzzz."));
    CHECK(refused("\x80\x05N."));
    CHECK(refused("\x93."));
    CHECK(refused(std::string(Pickle::kLargest, 'N') + "."));
    CHECK_FALSE(refused("N."));
}

}  // namespace
}  // namespace aoti_dbg::pt_reader_test

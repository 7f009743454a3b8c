// Arguments from frames as a thunk lays them out. Handles are plain numbers that are never dereferenced.
#include "shim/tensors/arguments.hpp"

#include <sys/mman.h>

#include <cstring>
#include <deque>
#include <optional>

#include "shim/runtime/process.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shim_frame.hpp"

namespace aoti_dbg::measure_arguments_test {
namespace {

using test::Frame;
using test::handle;
using test::shim;

/// A call site as the only one of a model, with its plan.
class Planned {
  public:
    explicit Planned(const CallSite& site) {
        info_.run.sites.push_back(site);
        plans_ = make_site_plans(info_, 0);
    }
    [[nodiscard]] const SitePlan& plan() const { return plans_.front(); }

  private:
    WrapperInfo info_;
    std::vector<SitePlan> plans_;
};

using Found = PlainList<CallArgument>;

/// Handles of the tensors among `found` that the call creates.
std::vector<TensorHandle> created_ones(const Found& found) {
    std::vector<TensorHandle> made;
    for (const CallArgument& argument : found)
        if (argument.kind == CallArgument::Kind::tensor && argument.facts->role == Role::makes)
            made.push_back(argument.handle);
    return made;
}

Found of_shim(const ShimSignature& shim, const StubFrame& frame, const CallSite* site, bool after) {
    ensure_process_ready();
    static std::deque<Planned> planned;  // the results refer to it
    const SitePlan* const plan = site == nullptr ? nullptr : &planned.emplace_back(*site).plan();
    Found found;
    shim_arguments(shim, frame, plan, after, found);
    if (after && plan != nullptr) {
        Found made;
        created_arguments(shim, frame, *plan, made);
        CHECK(created_ones(made) == created_ones(found));
    }
    return found;
}

Found of_kernel(const StubFrame& frame, const CallSite* site, unsigned integers) {
    ensure_process_ready();
    static std::deque<Planned> planned;
    Found found;
    kernel_arguments(frame, site == nullptr ? nullptr : &planned.emplace_back(*site).plan(), integers, found);
    return found;
}

std::vector<std::string> labels(const Found& arguments) {
    std::vector<std::string> found;
    found.reserve(arguments.size());
    for (const CallArgument& argument : arguments)
        found.push_back(argument.facts->label);
    return found;
}

Argument tensor(const std::string& name, Role role = Role::reads) {
    Argument argument;
    argument.kind = ArgumentKind::tensor;
    argument.role = role;
    argument.text = name;
    argument.tensors = {TensorName{name, std::nullopt}};
    return argument;
}

std::string text_of(const CallArgument& argument) {
    if (argument.kind != CallArgument::Kind::scalar) return {};
    return std::string(text_of(argument.value).view());
}

Argument scalar(const std::string& text, const std::string& type = {}) {
    Argument argument;
    argument.kind = ArgumentKind::scalar;
    argument.text = text;
    argument.type = type;
    return argument;
}

using Labels = std::vector<std::string>;

TEST_CASE("Absent tensors are left out: null handles, null places, null elements of lists") {
    const TensorHandle there = handle(16);
    const TensorHandle list[] = {nullptr, there, nullptr};
    const TensorHandle* const optionals[] = {nullptr, &there};
    Frame frame;
    frame.integer(0).integer(0).pointer(&there).pointer(list).integer(3).pointer(optionals).integer(2);
    const auto found = of_shim(shim("iqqlnLn"), frame, nullptr, false);
    CHECK(labels(found) == Labels{"arg2", "arg3[1]", "arg5[1]"});
    for (const CallArgument& argument : found)
        CHECK(argument.handle == there);
}

TEST_CASE("Places of returned tensors are not read before the call, and unrequested ones never") {
    const TensorHandle made = handle(32);
    Frame frame;
    frame.integer(16).pointer(&made).integer(0);
    CHECK(labels(of_shim(shim("irr"), frame, nullptr, false)) == Labels{"arg0"});
    const auto after = of_shim(shim("irr"), frame, nullptr, true);
    CHECK(labels(after) == Labels{"arg0", "arg1"});
    CHECK(after[1].handle == made);
}

TEST_CASE("Integers and floating-point numbers spill to one stack, in their order") {
    Frame frame;
    for (std::uint64_t i = 1; i <= 6; ++i)
        frame.integer(i);
    for (int i = 0; i < 8; ++i)
        frame.real(0.5);
    frame.real(2.5).integer(64).real(3.5).integer(80);
    CallSite site;
    for (int i = 0; i < 6; ++i)
        site.arguments.push_back(scalar("1L"));
    for (int i = 0; i < 8; ++i)
        site.arguments.push_back(scalar("0.5"));
    site.arguments.push_back(scalar("s0"));
    site.arguments.push_back(tensor("buf1"));
    site.arguments.push_back(scalar("s1"));
    site.arguments.push_back(tensor("buf2"));
    const auto all = of_shim(shim("wwwwwwdddddddddidi"), frame, &site, false);
    REQUIRE(all.size() == 18);
    for (std::size_t i = 0; i < 6; ++i)
        CHECK(text_of(all[i]) == std::to_string(i + 1));
    const std::vector<std::string> all_labels = labels(all);
    CHECK(Labels(all_labels.begin() + 14, all_labels.end()) == Labels{"s0", "buf1", "s1", "buf2"});
    CHECK(text_of(all[14]) == "2.5");
    CHECK(all[15].handle == handle(64));
    CHECK(text_of(all[16]) == "3.5");
    CHECK(all[17].handle == handle(80));
}

TEST_CASE("The upper half of a register is not part of a 32-bit number") {
    CallSite site;
    site.arguments = {scalar("s0"), scalar("s1")};
    Frame frame;
    frame.integer(0xdeadbeefffffffffULL).integer(0xdeadbeef00000007ULL);
    const auto found = of_shim(shim("zy"), frame, &site, false);
    REQUIRE(found.size() == 2);
    CHECK(text_of(found[0]) == "-1");
    CHECK(text_of(found[1]) == "7");
}

TEST_CASE("A site with another number of arguments names nothing") {
    CallSite site;
    site.arguments = {tensor("buf0")};
    Frame frame;
    frame.integer(16).integer(32);
    CHECK(labels(of_shim(shim("ii"), frame, &site, false)) == Labels{"arg0", "arg1"});
}

TEST_CASE("The site says which tensors in the proxy executor's list are new; without one any may be") {
    const TensorHandle list[] = {handle(16), handle(32), handle(48)};
    Frame frame;
    frame.integer(1).integer(0).integer(0).integer(0).integer(3).pointer(list);
    CallSite site;
    site.arguments = {tensor("buf0"), scalar("2.5"), tensor("arg1_1"), tensor("buf1", Role::writes)};
    ShimSignature executor = shim("pzzazt");
    executor.kind = ShimKind::proxy;
    const auto found = of_shim(executor, frame, &site, false);
    CHECK(labels(found) == Labels{"buf0", "arg1_1", "buf1"});
    REQUIRE(found.size() == 3);
    CHECK_FALSE(found[1].only_after);
    CHECK(found[2].only_after);

    for (const CallArgument& argument : of_shim(executor, frame, nullptr, false))
        CHECK(argument.only_after);
}

TEST_CASE("An op's new tensors are found among all kinds of arguments, wherever they are") {
    const ShimSignature& attention = *find_shim("aoti_torch_cuda__scaled_dot_product_flash_attention");
    REQUIRE(attention.args == "iiidzzDrrrrWWrrr");
    const TensorHandle made[] = {handle(64),  handle(80), nullptr,    handle(96),
                                 handle(112), nullptr,    handle(128)};
    const std::int64_t length = 12;
    Frame frame;
    frame.integer(16).integer(32).integer(48).real(0.5).integer(1).integer(0).pointer(nullptr);
    for (int i = 0; i < 4; ++i)
        frame.pointer(&made[i]);
    frame.pointer(&length).pointer(&length).pointer(&made[4]).pointer(nullptr).pointer(&made[6]);
    CallSite site;
    site.kind = SiteKind::op;
    site.function = attention.name;
    site.arguments.assign(attention.args.size(), scalar("0"));
    for (const std::size_t at : {0, 1, 2, 7, 8, 9, 10, 13, 14, 15})
        site.arguments[at] = tensor("buf" + std::to_string(at));
    const Found found = of_shim(attention, frame, &site, true);
    CHECK(created_ones(found) == std::vector{made[0], made[1], made[3], made[4], made[6]});

    const TensorHandle operands[] = {handle(16), handle(96)};
    Frame passed;
    passed.integer(1).integer(0).integer(0).integer(0).integer(2).pointer(operands);
    CallSite op;
    op.kind = SiteKind::proxy;
    op.arguments = {tensor("buf0"), tensor("buf1")};
    ShimSignature executor = shim("pzzazt");
    executor.kind = ShimKind::proxy;
    CHECK(created_ones(of_shim(executor, passed, &op, true)) == std::vector{operands[0], operands[1]});
}

Argument of_node(ArgumentKind kind, const std::string& parameter, const std::string& value,
                 std::uint32_t integers = 0) {
    Argument argument;
    argument.kind = kind;
    argument.text = argument.value = value;
    argument.parameter = parameter;
    argument.integers = integers;
    return argument;
}

TEST_CASE("An op behind the proxy executor has the passed integers, and the rest from its JSON") {
    const std::int64_t integers[] = {20, 1, -2};
    const TensorHandle list[] = {handle(16)};
    CallSite site;
    site.kind = SiteKind::proxy;
    site.arguments = {tensor("buf0"),
                      of_node(ArgumentKind::scalar, "minlength", "", 1),  // a symbol: no value in the JSON
                      of_node(ArgumentKind::scalar, "scale", "2.5"),
                      of_node(ArgumentKind::scalar_list, "dims", "7, 8", 2),
                      of_node(ArgumentKind::string, "mode", "a\"b"),
                      of_node(ArgumentKind::absent, "out", ""),
                      of_node(ArgumentKind::scalar_list, "weights", "0.5, 1")};
    ShimSignature executor = shim("pzzazt");
    executor.kind = ShimKind::proxy;
    const auto values_of = [&](std::uint64_t passed) {
        Frame frame;
        frame.integer(1).integer(0).integer(passed).pointer(integers).integer(1).pointer(list);
        Labels values;
        for (const CallArgument& argument : of_shim(executor, frame, &site, false))
            values.push_back(argument.facts->label + "=" + text_of(argument));
        return values;
    };
    CHECK(values_of(3) ==
          Labels{"minlength=20", "scale=2.5", "dims=[1, -2]", R"(mode="a\"b")", "weights=[0.5, 1]", "buf0="});
    // The count does not match our reading, so none of the list's integers are used.
    CHECK(values_of(2) == Labels{"scale=2.5", "dims=[7, 8]", R"(mode="a\"b")", "weights=[0.5, 1]", "buf0="});
}

TEST_CASE("A kernel's pointers and symbols are named by its site; literal numbers are left out") {
    CallSite site;
    site.arguments = {tensor("buf0"), scalar("0.5", "double"), scalar("s77", "int64_t"), tensor("arg5_1"),
                      scalar("32L", "const int64_t")};
    Frame frame;
    frame.integer(64).real(0.5).integer(8).integer(128).integer(32);
    const auto found = of_kernel(frame, &site, 0);
    CHECK(labels(found) == Labels{"buf0", "s77", "arg5_1"});
    REQUIRE(found.size() == 3);
    CHECK(found[0].kind == CallArgument::Kind::pointer);
    CHECK(found[0].address == 64);
    CHECK(text_of(found[1]) == "8");
    CHECK(found[2].address == 128);
}

TEST_CASE("Decoding of a kernel stops at an argument of unknown kind") {
    CallSite site;
    site.arguments = {tensor("buf0"), scalar("s77"), tensor("buf1")};
    Frame frame;
    frame.integer(64).integer(8).integer(128);
    CHECK(labels(of_kernel(frame, &site, 0)) == Labels{"buf0"});
}

TEST_CASE("Without a site a kernel's integer arguments are positional, and each may be a pointer") {
    Frame frame;
    frame.integer(64).integer(8);
    CHECK(labels(of_kernel(frame, nullptr, 2)) == Labels{"arg0", "arg1"});
}

TEST_CASE("A launch passes its arguments in its own order; the result has the source's, numbers included") {
    CallSite site;
    site.kind = SiteKind::triton;
    site.arguments = {tensor("buf0", Role::updates), scalar("s77", "i32"), tensor("arg0_1"),
                      scalar("8L", "i32")};
    const Planned planned(site);
    const std::uint64_t out = 4096;
    const std::uint64_t in = 8192;
    const std::int32_t elements = -3;
    const std::uint64_t scratch = 1;
    const void* parameters[] = {&in, &out, &elements, &scratch};
    const std::uint32_t launched[] = {2, 0, 1, kNone};
    Found found;
    launch_arguments(const_cast<void**>(parameters), plan_launch(planned.plan().by_position, launched),
                     found);
    CHECK(labels(found) == Labels{"buf0", "s77", "arg0_1", "8L"});
    REQUIRE(found.size() == 4);
    CHECK(found[0].address == out);
    CHECK(found[0].may_write);
    CHECK(text_of(found[1]) == "-3");
    CHECK(found[2].address == in);
    CHECK_FALSE(found[2].may_write);
    CHECK(text_of(found[3]) == "8");
}

TEST_CASE("A launch without a source is read by its parameter sizes, and never beyond them") {
    ensure_process_ready();
    const std::uint64_t pointer = 4096;
    const std::int32_t number = 7;
    const char map[128] = {};
    const void* parameters[] = {&pointer, &number, map};
    const std::uint32_t sizes[] = {8, 4, 128};
    Found found;
    unplanned_arguments(const_cast<void**>(parameters), sizes, found);
    CHECK(labels(found) == Labels{"arg0", "arg1"});
    REQUIRE(found.size() == 2);
    CHECK(found[0].address == pointer);
    CHECK(found[0].may_write);
    CHECK(text_of(found[1]) == "7");
}

/// Bytes that end at the last readable address.
class EndOfMemory {
  public:
    explicit EndOfMemory(std::string_view bytes)
        : pages_(static_cast<char*>(
              mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        REQUIRE(mprotect(pages_ + kPage, kPage, PROT_NONE) == 0);
        memcpy(pages_ + kPage - bytes.size(), bytes.data(), bytes.size());
        begin_ = pages_ + kPage - bytes.size();
    }
    ~EndOfMemory() { munmap(pages_, 2 * kPage); }
    EndOfMemory(const EndOfMemory&) = delete;
    EndOfMemory& operator=(const EndOfMemory&) = delete;
    [[nodiscard]] const char* begin() const { return begin_; }
    [[nodiscard]] const char* end() const { return pages_ + kPage; }

  private:
    static constexpr std::size_t kPage = 4096;
    char* pages_;
    const char* begin_ = nullptr;
};

std::string text_at(const char* text) {
    const std::optional<ShortText> read = ShortText::string_at(text);
    return read ? std::string(read->view()) : "nothing";
}

TEST_CASE("An unreadable string is left out, and a readable one is not read beyond its end") {
    CHECK(text_at(nullptr) == "nothing");
    CHECK(text_at(reinterpret_cast<const char*>(8)) == "nothing");
    using std::string_view_literals::operator""sv;
    const EndOfMemory whole("sum\0"sv);
    CHECK(text_at(whole.begin()) == "\"sum\"");
    CHECK(text_at(whole.end()) == "nothing");
    const EndOfMemory endless("sum");
    CHECK(text_at(endless.begin()) == "\"sum\"...");
    Frame frame;
    const char* const place = whole.end();
    frame.pointer(whole.end()).pointer(&place);
    CHECK(of_shim(shim("sS"), frame, nullptr, false).empty());
}

TEST_CASE("Unprintable characters and quotes are escaped, and never cut in the middle") {
    CHECK(text_at("") == "\"\"");
    CHECK(text_at("a\"b\\c\nd\x1b\xff") == R"("a\"b\\c\nd\x1b\xff")");
    const std::string fits(45, 'x');
    CHECK(text_at(fits.substr(0, 42).c_str()) == '"' + fits.substr(0, 42) + '"');
    CHECK(text_at(fits.c_str()) == '"' + fits.substr(0, 42) + "\"...");
    const std::string control(20, '\x01');
    const std::string cut = text_at(control.c_str());
    CHECK(cut.size() <= ShortText::kMost);
    CHECK(cut.substr(cut.size() - 8) == R"(\x01"...)");
}

TEST_CASE("Scalars and strings have the names of the shim's header, and absent ones are left out") {
    const std::int64_t dims[] = {1, -1};
    const std::int32_t mask[] = {1, 0, 1};
    const std::int64_t many[] = {1000000000, 2000000000, 3000000000, 4000000000, 5000000000};
    const std::int32_t dtype = 6;
    const std::int64_t bins = 1L << 40;
    const double scale = 0.125;
    const char* const algorithm = "fast";
    ShimSignature op = shim("iAnBnAnsSZWDZWDbu");
    op.names = ShimText::outside(
        "self dim dim_len_ mask mask_len_ many many_len_ mode algorithm dtype bins scale a b c flag n");
    Frame frame;
    frame.integer(16).pointer(dims).integer(2).pointer(mask).integer(3).pointer(many).integer(5);
    frame.pointer("reflect").pointer(&algorithm).pointer(&dtype).pointer(&bins).pointer(&scale);
    frame.integer(0).integer(0).integer(0).integer(0xffffff01U).integer(UINT64_MAX);
    const auto found = of_shim(op, frame, nullptr, false);
    CHECK(labels(found) ==
          Labels{"arg0", "dim", "mask", "many", "mode", "algorithm", "dtype", "bins", "scale", "flag", "n"});
    std::vector<std::string> values;
    for (const CallArgument& argument : found)
        values.emplace_back(text_of(argument));
    CHECK(values == Labels{"", "[1, -1]", "[1, 0, 1]", "[1000000000, 2000000000, 3000000000, ...]",
                           "\"reflect\"", "\"fast\"", "6", "1099511627776", "0.125", "1",
                           "18446744073709551615"});
}

TEST_CASE("A list of unknown length is left out, and so is one of unknown kind") {
    const std::int64_t sizes[] = {1, 2};
    const double one = 1;
    const double* const scalars[] = {&one};
    const char* const names[] = {"a", "b"};
    Frame frame;
    frame.pointer(sizes).pointer(scalars).integer(1).pointer(names).integer(2).integer(0).integer(3).real(
        2.5);
    const auto found = of_shim(shim("AOnSnAnd"), frame, nullptr, false);
    CHECK(labels(found) == Labels{"arg7"});
    CHECK(text_of(of_shim(shim("An"), Frame().integer(0).integer(0), nullptr, false)[0]) == "[]");
}

TEST_CASE("Numbers that the op returns are listed after it") {
    const std::int64_t made = 77;
    ShimSignature op = shim("iW");
    op.names = ShimText::outside("self ret4");
    Frame frame;
    frame.integer(16).pointer(&made);
    CHECK(labels(of_shim(op, frame, nullptr, false)) == Labels{"arg0"});
    const auto after = of_shim(op, frame, nullptr, true);
    REQUIRE(after.size() == 2);
    CHECK(after[1].facts->label == "ret4");
    CHECK(text_of(after[1]) == "77");
}

TEST_CASE("Computed values keep the source's name, and literals have that of the header") {
    CallSite site;
    site.function = "aoti_torch_cpu_topk";
    site.arguments = {tensor("arg0_1"), scalar("s77"),         scalar("-1L"),        scalar("12L*s77"),
                      scalar("true"),   tensor("buf4_handle"), tensor("buf5_handle")};
    Frame frame;
    frame.integer(16).integer(5).integer(UINT64_MAX).integer(60).integer(1);
    const ShimSignature* topk = find_shim("aoti_torch_cpu_topk");
    REQUIRE(topk != nullptr);
    const auto found = of_shim(*topk, frame, &site, false);
    CHECK(labels(found) == Labels{"arg0_1", "s77", "dim", "largest", "sorted"});
    REQUIRE(found.size() == 5);
    CHECK(found[0].facts->parameter == "self");
    CHECK(found[1].facts->parameter == "k");
    CHECK(text_of(found[2]) == "-1");
    CHECK(text_of(found[3]) == "60");
}

TEST_CASE("A long string is cut, with a mark") {
    CHECK(ShortText("abc").view() == "abc");
    const ShortText text(std::string(100, 'x'));
    const std::string_view cut = text.view();
    CHECK(cut.size() == 47);
    CHECK(cut.substr(44) == "...");
}

}  // namespace
}  // namespace aoti_dbg::measure_arguments_test

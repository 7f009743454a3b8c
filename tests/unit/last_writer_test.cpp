// The last writer of a tensor, by the source of a real model and of a hand-written one.
#include "model/last_writer.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/unit/call_sites_fixture.hpp"

namespace aoti_dbg::last_writer_test {
namespace {

using Kind = LastWriter::Kind;

/// addmm_out, relu in place, addmm_out, softmax.
WrapperInfo linear_softmax() {
    WrapperInfo info = read_wrapper(test_data("linear_softmax.released.cpp.txt"));
    REQUIRE(info.run.sites.size() == 4);
    return info;
}

std::uint32_t site_of(const WrapperInfo& info, std::string_view name) {
    for (std::uint32_t i = 0; i < info.run.sites.size(); ++i)
        if (info.run.sites[i].name == name) return i;
    FAIL("no call of " << name);
    return kNone;
}

void check_call(const LastWriter& writer, std::size_t call, bool is_likely) {
    CHECK(writer.kind == Kind::call);
    CHECK(writer.call == call);
    CHECK(writer.is_likely == is_likely);
}

TEST_CASE("The call that wrote the memory last is found, even under another name") {
    const WrapperInfo info = linear_softmax();
    check_call(last_writer(info, {0, 1}, "buf1"), 0, false);  // buf1 is buf0
    check_call(last_writer(info, {0, 1, 2}, "buf1"), 1, false);
    check_call(last_writer(info, {0, 1, 2}, "buf2"), 1, false);
    check_call(last_writer(info, {0, 1, 2, 3}, "buf3"), 2, false);
    // The launch that would have written it was skipped because its grid was empty.
    check_call(last_writer(info, {0, 2}, "buf1"), 0, false);
}

TEST_CASE("Memory that no call wrote is an input, a constant or unwritten") {
    const WrapperInfo info = linear_softmax();
    CHECK(last_writer(info, {0}, "arg4_1").kind == Kind::input);
    const LastWriter weight = last_writer(info, {0, 1, 2}, "second_weight");
    CHECK(weight.kind == Kind::constant);
    CHECK(weight.constant == "second.weight");
    CHECK(last_writer(info, {0}, "buf0").kind == Kind::no_call);
    CHECK(last_writer(info, {0}, "no_such_name").kind == Kind::unknown);
    CHECK(last_writer(info, {}, "buf0").kind == Kind::unknown);
    CHECK(last_writer(info, {kNone}, "buf0").kind == Kind::unknown);
}

TEST_CASE("An input that is copied where it is not aligned still belongs to the caller") {
    WrapperInfo info = linear_softmax();
    info.run.shared_memory.insert(info.run.shared_memory.begin(),
                                  {"arg4_1", "arg4_1_aligned", SharedMemory::How::moved, 0});
    CHECK(last_writer(info, {0}, "arg4_1").kind == Kind::input);
}

TEST_CASE("A possible writer is reported as likely") {
    const WrapperInfo info = linear_softmax();
    // One call has an unknown place.
    check_call(last_writer(info, {0, kNone, 2}, "buf1"), 0, true);
    CHECK(last_writer(info, {0, kNone, 2}, "buf2").kind == Kind::unknown);
    CHECK(last_writer(info, {0, kNone, 2}, "second_weight").is_likely);
}

TEST_CASE("A view may share the writers of its tensor") {
    const WrapperInfo info = read_wrapper(kCudaWrapper);
    const std::uint32_t red = site_of(info, "triton_red_fused_add_0");
    const std::uint32_t author = site_of(info, "add_kernel_0");
    const std::uint32_t put = site_of(info, "aoti_torch_cuda_index_put_");
    check_call(last_writer(info, {red, author}, "buf0"), 0, false);
    // The user's kernel may have written it, and buf1 is a view.
    check_call(last_writer(info, {red, author, put}, "buf1"), 1, true);
    check_call(last_writer(info, {red, put}, "buf1"), 0, true);
    check_call(last_writer(info, {red, put, put}, "buf1"), 1, true);
}

TEST_CASE("Names that form a cycle do not cause an endless loop") {
    WrapperInfo info = linear_softmax();
    info.run.shared_memory = {{"a", "b", SharedMemory::How::shared, 0},
                              {"b", "a", SharedMemory::How::shared, 0}};
    CHECK(last_writer(info, {0, 1}, "a").kind == Kind::unknown);
}

}  // namespace
}  // namespace aoti_dbg::last_writer_test

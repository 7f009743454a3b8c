// The generated table of shim functions: the lookup, the facts about single functions, and what holds for
// all. The expected facts are written by hand from the header's text, so that a wrong generator is noticed.

#include "shim/runtime/shim_table.hpp"

#include <iterator>
#include <string>
#include <string_view>

#include "tests/support/catch.hpp"

namespace aoti_dbg::shim_table_test {
namespace {

constexpr ShimRow<std::string_view> kAll[] = {
#include "shim/runtime/shim_table.inc"
};

const ShimSignature& shim(std::string_view name) {
    const ShimSignature* const found = find_shim(name);
    INFO(name);
    REQUIRE(found != nullptr);
    return *found;
}

TEST_CASE("A name that is not in the table is not found, even if similar") {
    CHECK(find_shim("") == nullptr);
    CHECK(find_shim("aoti_torch_") == nullptr);
    CHECK(find_shim("aoti_torch_cpu_addmm_ou") == nullptr);
    CHECK(find_shim("aoti_torch_cpu_addmm_out_") == nullptr);
    CHECK(find_shim("zzz") == nullptr);
    CHECK(find_shim(std::string_view("\0", 1)) == nullptr);
}

TEST_CASE("A name need not end in a NUL") {
    const std::string_view longer = "aoti_torch_cpu_mm_outside";
    const ShimSignature* const found = find_shim(longer.substr(0, 21));
    REQUIRE(found != nullptr);
    CHECK(found->name == "aoti_torch_cpu_mm_out");
}

TEST_CASE("Every function of the table is found under its name, the first and the last too") {
    for (const ShimRow<std::string_view>& entry : kAll) {
        CHECK(shim(std::string(entry.name)).args == entry.args);
    }
    CHECK(std::size(kAll) > 700);
}

TEST_CASE("An op has a name for each argument, and nothing else has any") {
    for (const ShimRow<std::string_view>& entry : kAll) {
        INFO(entry.name);
        const bool has_names = entry.kind == ShimKind::op && !entry.args.empty();
        const ShimSignature& found = shim(entry.name);
        CHECK(found.names == entry.names);
        CHECK(found.name_of(entry.args.size()).empty());
        for (std::size_t i = 0; i < entry.args.size(); ++i)
            CHECK(found.name_of(i).empty() != has_names);
    }
    CHECK(shim("aoti_torch_cpu_topk").name_of(0) == "self");
    CHECK(shim("aoti_torch_cpu_topk").name_of(4) == "sorted");
    CHECK(shim("aoti_torch_cpu_topk").name_of(6) == "ret1");
    CHECK(shim("aoti_torch_cpu_topk").name_of(100).empty());
    CHECK(shim("aoti_torch__fft_c2c").name_of(1) == "dim");
}

TEST_CASE("Register counts follow from the argument letters") {
    for (const ShimRow<std::string_view>& entry : kAll) {
        INFO(entry.name);
        unsigned integers = 0;
        unsigned floats = 0;
        for (const char letter : entry.args) {
            if (letter == 'C') {
                floats += 2;
            } else if (letter == 'd' || letter == 'f' || letter == 'c') {
                floats += 1;
            } else {
                integers += 1;
            }
        }
        CHECK(entry.integers == integers);
        CHECK(entry.floats == floats);
    }
}

TEST_CASE("A caller's output is written, a returned tensor is not, and a list of tensors has a length") {
    for (const ShimRow<std::string_view>& entry : kAll) {
        INFO(entry.name);
        for (std::size_t i = 0; i < entry.args.size(); ++i) {
            const char letter = entry.args[i];
            if (letter == 'o') CHECK(entry.mutates[i] == 'm');
            if (letter == 'r') CHECK(entry.mutates[i] == '-');
            if (letter == 'l' || letter == 'L' || letter == 'O' || letter == 'P') {
                REQUIRE(i + 1 < entry.args.size());
                CHECK((entry.args[i + 1] == 'n' || entry.args[i + 1] == 'N'));
            }
        }
    }
}

TEST_CASE("A complex<double> by value takes two vector registers, a complex<float> one") {
    CHECK(shim("aoti_torch_scalar_to_tensor_complex128").args == "Cr");
    CHECK(shim("aoti_torch_scalar_to_tensor_complex128").floats == 2);
    CHECK(shim("aoti_torch_scalar_to_tensor_complex64").floats == 1);
}

TEST_CASE("Arguments beyond the registers are counted for the stack") {
    // 15 integers and pointers, nine of them on the stack. Two doubles do not count.
    const ShimSignature& attention = shim("aoti_torch__scaled_dot_product_flash_attention_v2");
    CHECK(attention.args == "iiidzzDrrrrWWrrr");
    CHECK(attention.stack_words() == 9);
    CHECK(shim("aoti_torch_get_data_ptr").stack_words() == 0);
    CHECK(shim("aoti_torch_abi_version").args.empty());
}

TEST_CASE("In ops of an out variant the caller's tensor comes first and is written") {
    const ShimSignature& addmm = shim("aoti_torch_cuda_addmm_out");
    CHECK(addmm.args == "oiiidd");
    CHECK(addmm.mutates == "m-----");
    CHECK(addmm.printed == "aoti_torch_cuda_addmm_out");
    CHECK(addmm.kind == ShimKind::op);
    CHECK(addmm.integers == 4);
    CHECK(addmm.floats == 2);
}

TEST_CASE("Fallback ops are printed as PyTorch spells them") {
    CHECK(shim("aoti_torch_cpu_sort_stable").printed == "at::_ops::sort_stable::call");
    CHECK(shim("aoti_torch_cpu_sort_stable").args == "iZwzrr");
    CHECK(shim("aoti_torch_cuda__fft_c2c").printed == "at::_ops::_fft_c2c::call");
    CHECK(shim("aoti_torch_cpu_mkldnn_rnn_layer").printed == "at::_ops::mkldnn_rnn_layer::call");
    CHECK(shim("aoti_torch_cpu_convolution").printed == "aoti_torch_cpu_convolution");
    CHECK(shim("aoti_torch_cpu__linear_pointwise").printed == "aoti_torch_cpu__linear_pointwise");
    CHECK(shim("aoti_torch_cpu__wrapped_linear_prepack").printed == "_quantized::_wrapped_linear_prepack");
}

TEST_CASE("Lists, optional tensors and lists of optional tensors are distinguished") {
    CHECK(shim("aoti_torch_cpu_cat").args == "lnwr");
    CHECK(shim("aoti_torch_cpu_index_Tensor").args == "iLnr");
    CHECK(shim("aoti_torch_index_put_out").args == "oilNib");
    // A block size after an optional tensor is not the length of a list.
    CHECK(shim("aoti_torch_cpu__dyn_quant_pack_4bit_weight").args == "iiqwwwr");
    CHECK(shim("aoti_torch_proxy_executor_call_function").args == "pzzazt");
}

TEST_CASE("Ops that work in place name what they write, wherever it is") {
    CHECK(shim("aoti_torch_cpu__fused_moving_avg_obs_fq_helper").mutates == "---mmmm--------");
    CHECK(shim("aoti_torch_cuda_bernoulli__float").mutates == "m--");
    CHECK(shim("aoti_torch_cpu_mkldnn__convolution_pointwise_binary_").mutates.view().substr(0, 3) == "m--");
    CHECK(shim("aoti_torch_tensor_copy_").mutates == "-m");
    CHECK(shim("aoti_torch_cuda_sort").mutates == "-----");
}

TEST_CASE("Since 2.14, an op that returns one tensor prints under the name of its function") {
    const ShimSignature& one = shim("aoti_torch_cpu_cumsum");
    CHECK(one.printed_by(0) == "at::_ops::cumsum::call");
    CHECK(one.printed_by(213) == "at::_ops::cumsum::call");
    CHECK(one.printed_by(214) == "aoti_torch_cpu_cumsum");
    CHECK(shim("aoti_torch_cpu_sort_stable").printed_by(215) == "at::_ops::sort_stable::call");
    CHECK(shim("aoti_torch_cpu_index_put").printed_by(211) == "at::_ops::index_put::call");
    CHECK(shim("aoti_torch_cpu_addmm_out").printed_by(211) == "aoti_torch_cpu_addmm_out");
    CHECK(shim("aoti_torch_cpu_addmm_out").printed_by(215) == "aoti_torch_cpu_addmm_out");
}

TEST_CASE("Kinds: ops, the two routes of custom ops, and bookkeeping") {
    CHECK(shim("aoti_torch_proxy_executor_call_function").kind == ShimKind::proxy);
    CHECK(shim("aoti_torch_call_dispatcher").kind == ShimKind::dispatcher);
    CHECK(shim("torch_call_dispatcher").kind == ShimKind::dispatcher);
    CHECK(shim("aoti_torch_index_put_out").kind == ShimKind::op);
    CHECK(shim("aoti_torch__scaled_mm").kind == ShimKind::op);
    CHECK(shim("aoti_torch_clone").kind == ShimKind::bookkeeping);
    CHECK(shim("aoti_torch_zero_").kind == ShimKind::bookkeeping);
    CHECK(shim("aoti_torch_check").kind == ShimKind::bookkeeping);
    CHECK(shim("aoti_torch_delete_cuda_stream_guard").kind == ShimKind::bookkeeping);
}

}  // namespace
}  // namespace aoti_dbg::shim_table_test

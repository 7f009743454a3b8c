// The record of a captured launch, written and read back, and damaged ones.
#include "serializer/launch_record.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::launch_record_test {
namespace {

LaunchRecord sample() {
    LaunchRecord launch;
    launch.run = 3;
    launch.call = 41;
    launch.model = 0;
    launch.kernel = "triton_poi_fused_\"relu\"_0";
    launch.function = "triton_poi_fused_relu_0";
    launch.grid = {7, 2, 1};
    launch.block = {128, 1, 1};
    launch.cluster = {2, 1, 1};
    launch.shared_bytes = 66000;
    launch.is_cooperative = true;
    launch.image = "00ff.image";
    launch.image_hash = 0xfedcba9876543210;
    launch.device = "NVIDIA H100";
    launch.compute_capability = 90;
    launch.driver = 13000;
    launch.parameters.push_back({0, {std::byte{0}, std::byte{0xff}, std::byte{0x10}}, "arg0_1", 0});
    launch.parameters.push_back({8, {std::byte{1}}, "", 4096});
    LaunchTensor tensor;
    tensor.label = "arg0_1";
    tensor.address = 0x7f0000001000;
    tensor.facts.dtype = "bfloat16";
    tensor.facts.measured_dtype = DType::bfloat16;
    tensor.facts.sizes = {4, 128};
    tensor.facts.strides = {1, 4};
    tensor.is_unwritten = true;
    launch.tensors.push_back(tensor);
    launch.statement = "triton_poi_fused_relu_0.run($0, 128, stream=stream)";
    launch.arguments.push_back({"in_ptr0", 0, Role::reads, false, {"arg0_1"}, ""});
    launch.arguments.push_back({"xnumel", 1, Role::reads, false, {}, "128"});
    return launch;
}

LaunchRecord sample_op() {
    LaunchRecord launch = sample();
    launch.kind = LaunchKind::op;
    launch.op = "aoti_torch_cpu_index_put";
    launch.statement.clear();
    launch.arguments.push_back({"indices", 1, Role::reads, true, {"", "arg1_1"}, ""});
    launch.arguments.push_back({"values", 3, Role::reads, true, {}, ""});
    launch.arguments.push_back({"generator", 4, Role::reads, false, {}, ""});
    launch.arguments.push_back({"ret0", 5, Role::makes, false, {"buf1"}, ""});
    return launch;
}

TEST_CASE("A launch is read back as it was written") {
    const LaunchRecord launch = sample();
    const std::string text = render_launch(launch);
    const Result<LaunchRecord> read = read_launch(text);
    REQUIRE(read.ok());
    const LaunchRecord& found = read.value();
    CHECK(render_launch(found) == text);
    CHECK(found.kernel == launch.kernel);
    CHECK(found.cluster == launch.cluster);
    CHECK(found.image_hash == launch.image_hash);
    CHECK(found.parameters[0].bytes == launch.parameters[0].bytes);
    CHECK(found.parameters[1].reachable == 4096);
    CHECK(found.tensors[0].facts.measured_dtype == DType::bfloat16);
    CHECK(found.tensors[0].facts.strides == launch.tensors[0].facts.strides);
    CHECK(found.tensors[0].is_unwritten);
}

TEST_CASE("The arguments of an op are read back in order") {
    const LaunchRecord launch = sample_op();
    const std::string text = render_launch(launch);
    const Result<LaunchRecord> read = read_launch(text);
    REQUIRE(read.ok());
    const LaunchRecord& found = read.value();
    CHECK(render_launch(found) == text);
    CHECK(found.kind == LaunchKind::op);
    CHECK(found.op == launch.op);
    CHECK(text.find("\"function\"") == std::string::npos);
    CHECK(text.find("\"grid\"") == std::string::npos);
    REQUIRE(found.arguments.size() == 6);
    CHECK(found.arguments[1].value == "128");
    CHECK(found.arguments[2].labels == launch.arguments[2].labels);
    CHECK(found.arguments[3].is_list);
    CHECK(found.arguments[3].is_known());
    CHECK_FALSE(found.arguments[4].is_known());
    CHECK(found.arguments[5].role == Role::makes);
    CHECK(found.arguments[5].position == 5);
}

TEST_CASE("A launch of version 1 is a kernel without arguments") {
    const Result<LaunchRecord> read = read_launch(
        R"({"format":"aoti-dbg launch","version":1,"run":0,"call":1,"model":0,"kernel":"triton_a",)"
        R"("function":"triton_a","grid":[1,1,1],"block":[32,1,1],"shared_bytes":0,"device":"NVIDIA H200",)"
        R"("compute_capability":90,"driver":13000,"parameters":[],"tensors":[]})");
    REQUIRE(read.ok());
    CHECK(read.value().kind == LaunchKind::triton);
    CHECK(read.value().arguments.empty());
}

TEST_CASE("A damaged launch is refused with a reason") {
    const std::string text = render_launch(sample());
    const auto reason = [](const std::string& damaged) { return read_launch(damaged).status().message(); };
    const auto replaced = [&](const std::string& from, const std::string& to) {
        std::string damaged = text;
        damaged.replace(damaged.find(from), from.size(), to);
        return damaged;
    };
    CHECK(reason("") == "it is not JSON");
    CHECK(reason(text.substr(0, text.size() / 2)) == "it is not JSON");
    CHECK(reason("{}") == "it is no record of a launch");
    CHECK(reason(replaced("\"version\":2", "\"version\":3")) ==
          "it is of a newer version of aoti-dbg. Update aoti-dbg");
    CHECK(reason(replaced("[7,2,1]", "[7,2]")) == "its member \"grid\" is missing or damaged");
    CHECK(reason(replaced("00ff10", "00ff1")) == "its member \"parameters\" is missing or damaged");
    CHECK(reason(replaced("[4,128]", "[4]")) == "its member \"tensors\" is missing or damaged");
    CHECK(reason(replaced("\"position\":1,\"role\"", "\"place\":1,\"role\"")) ==
          "its member \"arguments\" is missing or damaged");
    CHECK(reason(replaced("\"kind\":\"triton\"", "\"kind\":\"op\"")) ==
          "its member \"op\" is missing or damaged");
}

TEST_CASE("Memory that no address space has is refused") {
    constexpr std::int64_t kMost = INT64_MAX;
    constexpr std::int64_t kHalf = std::int64_t{1} << 32U;
    const auto reads = [](std::uint64_t address, std::vector<std::int64_t> sizes,
                          std::vector<std::int64_t> strides) {
        LaunchRecord launch = sample();
        launch.tensors[0].address = address;
        launch.tensors[0].facts.sizes = std::move(sizes);
        launch.tensors[0].facts.strides = std::move(strides);
        return read_launch(render_launch(launch)).ok();
    };
    CHECK(reads(0x1000, {1, 4}, {kMost, 1}));
    CHECK(reads(0x1000, {0, 4}, {kMost, 1}));
    CHECK_FALSE(reads(0x1000, {4}, {-1}));
    CHECK_FALSE(reads(0x1000, {-4}, {1}));
    CHECK_FALSE(reads(0x1000, {2}, {kMost}));
    // Their products wrap around to a small number.
    CHECK_FALSE(reads(0x1000, {kHalf + 1}, {kHalf}));
    CHECK_FALSE(reads(0x1000, {kHalf, kHalf, 2}, {0, 0, 0}));
    CHECK_FALSE(reads(UINT64_MAX - 15, {16}, {1}));

    LaunchRecord launch = sample();
    launch.parameters[1].bytes.assign(8, std::byte{0xff});
    CHECK_FALSE(read_launch(render_launch(launch)).ok());
}

TEST_CASE("Any bytes are read or refused") {
    Random random(7);
    const std::string texts[] = {render_launch(sample()), render_launch(sample_op())};
    for (int i = 0; i < 20000; ++i) {
        std::string damaged = texts[i % 2];
        for (std::uint64_t n = 1 + random.below(4); n > 0; --n)
            damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
        if (random.below(3) == 0) damaged.resize(random.below(damaged.size()));
        const Result<LaunchRecord> read = read_launch(damaged);
        if (read.ok()) CHECK(read_launch(render_launch(read.value())).ok());
    }
}

}  // namespace
}  // namespace aoti_dbg::launch_record_test

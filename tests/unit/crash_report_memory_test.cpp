// A report's statements about memory: the use of freed memory, the neighborhood of an address, and a lack of
// memory.
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/unwrapped.hpp"
#include "tests/unit/crash_report_fixture.hpp"

namespace aoti_dbg::test::crash_report_memory_test {

using allocations::Way;
using Place = NearMemory::Place;

namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

NearMemory near(Place place) {
    NearMemory near;
    near.place = place;
    near.address = 0x7f1200000000;
    near.bytes = 2 << 20U;
    near.distance = 4096;
    near.device = 0;
    near.allocated_by = Way::alloc;
    near.created_sequence = 3;
    if (place != Place::freed) return near;
    near.freed_by = Way::free;
    near.freed_sequence = 9;
    near.freed_before_ns = 3'000'000;
    return near;
}

Evidence fault_at(std::vector<NearMemory> allocations) {
    Evidence evidence = ended_by(SIGABRT);
    evidence.uses_cuda = true;
    DeviceFault& fault = evidence.device.emplace();
    fault.kernel = "triton_poi_fused_index_3";
    fault.error = 700;
    fault.device = "cuda:0";
    fault.address = "0x7f1200001000";
    evidence.faulted = call_of("triton_poi_fused_index_3", 7, 41);
    evidence.allocations = std::move(allocations);
    return evidence;
}

Evidence short_of_memory() {
    Evidence evidence = ended_by(0);
    evidence.end.exit_status = 1;
    evidence.uses_cuda = true;
    evidence.failed = call_of("aoti_torch_cuda_addmm_out", 0, 4);
    evidence.failed->result = 1;
    Shortage& shortage = evidence.shortage.emplace();
    shortage.bytes = 12 * kGiB;
    shortage.device = 0;
    shortage.free_bytes = 3 * kGiB;
    shortage.total_bytes = 139 * kGiB;
    shortage.held_bytes = 100 * kGiB;
    shortage.held = 17;
    shortage.thread = 4250;
    shortage.way = Way::alloc;
    return evidence;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

nlohmann::json json_of(const Evidence& evidence) {
    const std::string text = kept_json(evidence);
    return nlohmann::json::parse(text);
}

}  // namespace

TEST_CASE("The verdict of a fault in freed memory says so, after the known facts of the access") {
    Evidence evidence = fault_at({near(Place::freed)});
    const std::string freed = " freed memory (2 MiB on cuda:0, freed by cuMemFree 3 ms before the launch)";
    const std::string place = "illegal memory access in triton_poi_fused_index_3 (run 7, call 41)";
    CHECK(judge(evidence).kind == CrashClass::kernel);
    CHECK(judge(evidence).headline == place + ": use of" + freed);
    evidence.device->is_write = true;
    evidence.arguments = {{"buf1", "in_ptr0 float32 [8]", {}}};
    evidence.arguments.front().parameter = evidence.device->parameter = "in_ptr0";
    CHECK(judge(evidence).headline == place + ": likely a write to buf1, which is" + freed);
    // The time of the free, and whether it is known, do not change the identity of the bug.
    CHECK(judge(evidence).fingerprint == judge(fault_at({})).fingerprint);
}

TEST_CASE("Tensors around the address are listed below its memory, which then counts as a segment") {
    NearMemory memory = near(Place::inside);
    NearTensor tensor;
    tensor.name = "buf5";
    tensor.place = NearTensor::Place::behind;
    tensor.address = 0x7f1200000800;
    tensor.bytes = 512;
    tensor.distance = 1536;
    tensor.run = 7;
    tensor.origin = tensors::Origin::made;
    tensor.end = tensors::End::freed;
    tensor.end_sequence = 12;
    tensor.was_freed = true;
    memory.tensors = {tensor};
    memory.known_tensors = 3;
    const Evidence evidence = fault_at({memory});
    const std::string text = unwrapped(text_of(evidence));
    CAPTURE(text);
    CHECK(contains(text, "(cuMemAlloc), a segment of several tensors"));
    CHECK(contains(text,
                   "in it: 1536 bytes past the end of buf5 (512 bytes, created in run 7, already freed)"));
    const nlohmann::json allocation = json_of(evidence).at("allocations").at(0);
    CHECK(allocation.at("known_tensors") == 3);
    CHECK(allocation.at("tensors").at(0).at("name") == "buf5");
    CHECK(allocation.at("tensors").at(0).at("place") == "behind");
    CHECK(allocation.at("tensors").at(0).at("end") == "let_go");
    CHECK(allocation.at("tensors").at(0).at("origin") == "made");
}

TEST_CASE("Other memory near the address is not in the verdict, but on the page and in the file") {
    for (const Place place :
         {Place::inside, Place::freed_later, Place::behind, Place::before, Place::nowhere}) {
        const Evidence evidence = fault_at({near(place)});
        CAPTURE(judge(evidence).headline);
        CHECK(judge(evidence).headline ==
              "illegal memory access in triton_poi_fused_index_3 (run 7, call 41)");
        CHECK(contains(text_of(evidence), "\n  memory         "));
    }
    Evidence evidence = fault_at({near(Place::behind), near(Place::before)});
    CHECK(contains(text_of(evidence),
                   "\n  memory         4 KiB past the end of an allocation of 2 MiB on cuda:0 (cuMemAlloc)\n"
                   "                 4 KiB before an allocation of 2 MiB on cuda:0 (cuMemAlloc)\n"));
    const nlohmann::json json = json_of(evidence).at("allocations");
    REQUIRE(json.size() == 2);
    CHECK(json[0].at("place") == "behind");
    CHECK(json[0].at("address") == "0x7f1200000000");
    CHECK(json[0].at("bytes") == 2 << 20);
    CHECK(json[0].at("distance") == 4096);
    CHECK(json[0].at("made_by") == "cuMemAlloc");
    CHECK(json[0].at("made_after_seq") == 3);
    CHECK_FALSE(json[0].contains("freed_by"));
    const nlohmann::json freed = json_of(fault_at({near(Place::freed)})).at("allocations").at(0);
    CHECK(freed.at("freed_by") == "cuMemFree");
    CHECK(freed.at("freed_after_seq") == 9);
    CHECK(freed.at("freed_before_ns") == 3'000'000);
    CHECK_FALSE(json_of(fault_at({})).contains("allocations"));
}

TEST_CASE("A call that failed for lack of memory has the class oom, with the size") {
    Evidence evidence = short_of_memory();
    CHECK(judge(evidence).kind == CrashClass::oom);
    CHECK(judge(evidence).headline ==
          "out of device memory: 12 GiB requested on cuda:0 (3 GiB of 139 GiB free), in "
          "aoti_torch_cuda_addmm_out (run 0, call 4); the program then exited with status 1");
    CHECK(contains(unwrapped(text_of(evidence)),
                   "12 GiB requested on cuda:0 (3 GiB of 139 GiB free) by cuMemAlloc in thread 4250; this "
                   "process holds 100 GiB in 17 allocations"));
    CHECK(contains(judge(evidence).advice.front(), "100 GiB in 17 allocations"));
    const nlohmann::json json = json_of(evidence).at("shortage");
    CHECK(json.at("bytes") == 12 * kGiB);
    CHECK(json.at("free") == 3 * kGiB);
    CHECK(json.at("total") == 139 * kGiB);
    CHECK(json.at("held") == 100 * kGiB);
    CHECK(json.at("allocations") == 17);
    CHECK(json.at("by") == "cuMemAlloc");
    // The driver could not be asked.
    evidence.shortage->total_bytes = 0;
    evidence.shortage->device = allocations::kNoDevice;
    CHECK(contains(judge(evidence).headline, "out of device memory: 12 GiB requested, in "));
    CHECK_FALSE(json_of(evidence).at("shortage").contains("total"));
    const std::string fingerprint = judge(evidence).fingerprint;
    evidence.shortage.reset();
    CHECK(judge(evidence).kind == CrashClass::host);
    CHECK(judge(evidence).fingerprint != fingerprint);
}

TEST_CASE("A run that ran out of memory between its calls is reported with the last of them") {
    Evidence evidence = short_of_memory();
    evidence.failed = call_of("AOTInductorModelContainerRun", 2, ring::kNoCall);
    evidence.failed->kind = ring::CallKind::run;
    CHECK(contains(judge(evidence).headline, ", in run 2; the program then exited"));
    evidence.last = call_of("triton_poi_fused_relu_0", 2, 5);
    CHECK(contains(judge(evidence).headline,
                   ", in run 2, after triton_poi_fused_relu_0 (run 2, call 5); the program then"));
    evidence.last->run = 1;
    CHECK(contains(judge(evidence).headline, ", in run 2; the program then exited"));
}

TEST_CASE("A lack of memory outside any call is reported if the process ended by a failure") {
    Evidence evidence = short_of_memory();
    evidence.failed.reset();
    CHECK(judge(evidence).headline ==
          "out of device memory: 12 GiB requested on cuda:0 (3 GiB of 139 GiB free), outside any call; the "
          "program then exited with status 1");
    CHECK(judge(evidence).kind == CrashClass::oom);
    evidence.last = call_of("triton_poi_fused_relu_0", 2, 5);
    CHECK(
        contains(judge(evidence).headline, "; the last call was triton_poi_fused_relu_0 (run 2, call 5); "));
    evidence.end.exit_status.reset();
    evidence.end.signal = SIGABRT;
    CHECK(contains(judge(evidence).headline, "; the process then ended with SIGABRT"));
    evidence.end.signal = SIGSEGV;
    CHECK(judge(evidence).kind == CrashClass::host);
    evidence.end.signal = 0;
    evidence.end.exit_status = 0;
    CHECK(judge(evidence).kind != CrashClass::oom);
    evidence.end.exit_status = 1;
    evidence.in_flight = {call_of("a")};
    CHECK(judge(evidence).kind == CrashClass::host);
}

TEST_CASE("A device fault and a signal take precedence over a lack of memory") {
    Evidence evidence = short_of_memory();
    evidence.device.emplace().error = 700;
    CHECK(judge(evidence).kind == CrashClass::kernel);
    evidence.device.reset();
    evidence.end.signal = SIGSEGV;
    CHECK(judge(evidence).kind == CrashClass::host);
}

}  // namespace aoti_dbg::test::crash_report_memory_test

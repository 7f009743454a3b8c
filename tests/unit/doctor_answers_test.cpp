// The answers of a child of `aoti-dbg doctor`, read line by line. The child may have crashed in the middle,
// and the driver may print in between.
#include <algorithm>

#include "cli/doctor/doctor_trials.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::cli::doctor_answers_test {
namespace {

DriverFacts driver(std::string_view said) {
    DriverFacts facts;
    read_driver(said, facts);
    return facts;
}

DoorFacts doors(std::string_view said) {
    DoorFacts facts;
    read_doors(said, facts);
    return facts;
}

TEST_CASE("A child without output leaves everything unknown") {
    const DriverFacts facts = driver("");
    CHECK(facts.version == 0);
    CHECK_FALSE(facts.init);
    CHECK_FALSE(facts.has_gpu());
    CHECK(doors("").doors.empty());
}

TEST_CASE("An incomplete line is ignored, because the child died in it") {
    CHECK(driver("version 13000\ninit 10").version == 13000);
    CHECK_FALSE(driver("version 13000\ninit 10").init);
}

TEST_CASE("Values of an unnamed GPU are ignored, and so are malformed numbers") {
    CHECK(driver("uuid GPU-1\nmemory 12\n").gpus.empty());
    CHECK_FALSE(driver("init none\n").init);
    CHECK(driver("gpu H200\nmemory -5\nmode 99999999999999999999\n").gpus.at(0).memory == 0);
}

TEST_CASE("Other driver output is skipped, and control characters do not reach a terminal") {
    const DriverFacts facts = driver("NVRM: hello\n\n\ninit 0\ngpu \x1b[31mH200\n initial 5\n");
    CHECK(facts.init == 0);
    REQUIRE(facts.gpus.size() == 1);
    CHECK(facts.gpus[0].name.find('\x1b') == std::string::npos);
}

TEST_CASE("All answers about the driver and its GPUs are read") {
    const DriverFacts facts = driver(
        "version 13000\ninit 0\ndumps 0\ndump_callback 1\ngpu NVIDIA H200\nuuid GPU-1\nmemory 150754820096\n"
        "capability 9.0\nmode 3\ngpu NVIDIA H200 MIG 1g.18gb\nuuid MIG-2\n");
    CHECK(facts.version == 13000);
    CHECK(facts.dump_attributes == 0);
    CHECK(facts.announces_dumps);
    REQUIRE(facts.gpus.size() == 2);
    CHECK(facts.gpus[0].memory == 150754820096);
    CHECK(facts.gpus[0].capability == "9.0");
    CHECK(facts.gpus[0].compute_mode == 3);
    CHECK(facts.gpus[1].name == "NVIDIA H200 MIG 1g.18gb");
    CHECK(facts.gpus[1].uuid == "MIG-2");
    CHECK(facts.gpus[1].memory == 0);
}

TEST_CASE("An entry point without a result was not available, and the first failure is reported") {
    const DoorFacts facts =
        doors("dlsym /lib/libc.so.6\ndoor dlsym 0\ndoor linked\nstopped cuInit 999\nstopped cuInit 3\n");
    CHECK(facts.dlsym_of == "/lib/libc.so.6");
    REQUIRE(facts.doors.size() == 2);
    CHECK(facts.doors[0].launch == 0);
    CHECK_FALSE(facts.doors[1].launch);
    CHECK(facts.stopped == "cuInit: unknown driver error (999)");
}

TEST_CASE("For a fault, the launch and its result are read") {
    FaultFacts facts;
    read_fault("launch 0 1790000000000000000\nerror 700\n", facts);
    CHECK(facts.launch == 0);
    CHECK(facts.error == 700);
    FaultFacts quiet;
    read_fault("launch 0 1790000000000000000\n", quiet);
    CHECK_FALSE(quiet.error);
}

bool is_clean(const std::string& text) {
    return std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 32; });
}

TEST_CASE("Whatever the bytes, the results are clean text") {
    const std::string whole =
        "version 1\ninit 0\ngpu a\nuuid b\nmemory 3\nstopped x 1\ndoor y 2\nlaunch 0 1\n";
    Random random(7);
    for (int round = 0; round < 3000; ++round) {
        std::string bytes = whole;
        for (int change = 0; change < 4; ++change)
            bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
        bytes.resize(random.below(bytes.size() + 1));
        DriverFacts facts = driver(bytes);
        FaultFacts fault;
        read_fault(bytes, fault);
        for (const Gpu& gpu : facts.gpus)
            REQUIRE((is_clean(gpu.name) && is_clean(gpu.uuid) && is_clean(gpu.capability)));
        for (const Door& door : doors(bytes).doors)
            REQUIRE(is_clean(door.name));
        REQUIRE((is_clean(facts.missing) && is_clean(doors(bytes).stopped) && is_clean(fault.stopped)));
    }
}

}  // namespace
}  // namespace aoti_dbg::cli::doctor_answers_test

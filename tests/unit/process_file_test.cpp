// A process's own facts: arbitrary bytes first, then the round trip.
#include "serializer/process_file.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::process_file_test {
namespace {

ProcessFacts sample() {
    ProcessFacts facts;
    facts.pid = 4242;
    facts.rank = "3";
    facts.working_folder = "/a folder/\"quoted\"";
    facts.command = {"python", "-c", "print(1)\nprint(2)", ""};
    facts.variables = {{"AOTI_DBG_OUT", "x=y"}, {"RANK", "3"}};
    return facts;
}

std::string text_of(const ProcessFacts& facts) {
    std::string text;
    append_process_line(facts, text);
    for (const DeviceFacts& device : facts.devices)
        append_device_line(device, text);
    return text;
}

}  // namespace

TEST_CASE("Arbitrary bytes are read or refused") {
    ProcessFacts facts = sample();
    facts.devices = {{0, "a", "b", 12040}};
    const std::string whole = text_of(facts);
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        const Result<ProcessFacts> read = read_process(whole.substr(0, length));
        if (read.ok()) CHECK(read.value().pid == 4242);
    }
    Random random(7);
    for (int round = 0; round < 5000; ++round) {
        std::string text = whole;
        for (int i = 0; i < 4; ++i)
            text[random.below(text.size())] = static_cast<char>(random.below(256));
        static_cast<void>(read_process(text));
    }
    for (const char* text : {"", "\n", "{}", "[]\n", "{\"format\":\"aoti-dbg-process\"}\n",
                             "{\"format\":\"aoti-dbg-process\",\"version\":2}\n"})
        CHECK_FALSE(read_process(text).ok());
}

TEST_CASE("Written facts are read back, devices in order, and a torn part is left out") {
    ProcessFacts facts = sample();
    facts.devices = {{1, "NVIDIA H200", "GPU-01", 13000}, {0, "", "", 0}};
    const ProcessFacts read = read_process(text_of(facts) + "{\"event\":\"device\",\"dev").value();
    CHECK(read.pid == facts.pid);
    CHECK(read.rank == facts.rank);
    CHECK(read.working_folder == facts.working_folder);
    CHECK(read.command == facts.command);
    CHECK(read.variables == facts.variables);
    REQUIRE(read.devices.size() == 2);
    CHECK(read.devices[0].number == 1);
    CHECK(read.devices[0].uuid == "GPU-01");
    CHECK(read.devices[0].driver_version == 13000);
    CHECK(read.devices[1].name.empty());
}

TEST_CASE("The file lies beside the flight ring, with its number") {
    CHECK(process_path("/out/flight.ring") == "/out/process.jsonl");
    CHECK(process_path("/out/flight-17.ring.2") == "/out/process-17.2.jsonl");
}

TEST_CASE("A uuid is written in nvidia-smi's form") {
    unsigned char bytes[16];
    for (unsigned char i = 0; i < 16; ++i)
        bytes[i] = static_cast<unsigned char>(0x10 * i + i);
    CHECK(uuid_text(bytes, "NVIDIA H200") == "GPU-00112233-4455-6677-8899-aabbccddeeff");
    CHECK(uuid_text(bytes, "NVIDIA H200 MIG 1g.18gb") == "MIG-00112233-4455-6677-8899-aabbccddeeff");
}

}  // namespace aoti_dbg::process_file_test

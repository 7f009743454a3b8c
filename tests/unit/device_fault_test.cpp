// What the command reads from a dump in the output folder.
#include "triage/gather/device_fault.hpp"

#include <sys/stat.h>

#include <fstream>

#include "base/readable_symbol.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gpu_dump_writer.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::test::device_fault_test {
namespace {

std::optional<DeviceFault> fault_in_kernel(const std::string& symbol) {
    DumpWriter writer = usual_dump();
    writer.devices[0].contexts[0].modules[1].image =
        module_image({{"add", 0x200, kAddAddress}, {symbol, 0x200, kMulAddress}});
    const TempFolder folder;
    std::ofstream(folder.path() / "gpu.core", std::ios::binary) << writer.bytes();
    std::vector<std::string> notes;
    return device_fault(folder.path(), 0, notes);
}

}  // namespace

TEST_CASE("A kernel has the name under which its calls are recorded") {
    for (const std::string symbol : {"mul", "i", "_Z3mulPfi", "_Z4gemmIfLi128E6ParamsIfEEvT1_"}) {
        CAPTURE(symbol);
        const auto fault = fault_in_kernel(symbol);
        REQUIRE(fault);
        CHECK(fault->kernel == readable_symbol(symbol));
    }
    CHECK(fault_in_kernel("_Z3mulPfi")->kernel == "mul(float*, int)");
}

TEST_CASE("Only mangled names are demangled") {
    CHECK(readable_symbol("_Z4gemmIfLi128E6ParamsIfEEvT1_") ==
          "void gemm<float, 128, Params<float> >(Params<float>)");
    CHECK(readable_symbol("i") == "i");
    CHECK(readable_symbol("_Zq") == "_Zq");
    CHECK(readable_symbol("").empty());
}

TEST_CASE("A pipe is not accepted as the dump's path file, and nothing waits for it") {
    const TempFolder folder;
    REQUIRE(mkfifo((folder.path() / "gpu.place").c_str(), 0600) == 0);
    std::vector<std::string> notes;
    CHECK_FALSE(device_fault(folder.path(), 0, notes));
}

}  // namespace aoti_dbg::test::device_fault_test

// million_launches N MODEL: runs the model until it has made N calls. Prints "flat" if the process has grown
// by at most 8 MB since its first tenth, otherwise the growth.
#include "tests/victims/model_user.hpp"

#include <unistd.h>

namespace {

constexpr long kAllowedGrowth = 8L << 20;

long resident_bytes() {
    long pages = 0;
    long resident = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "re");
    if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) victim::give_up("statm");
    std::fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const uint64_t launches = std::strtoull(argv[1], nullptr, 10);
    const victim::Torch torch;
    const victim::Model model(torch, argv[2]);
    const victim::Result first = model.run();
    bool same = true;
    while (torch.calls() < launches / 10)
        same = model.run().sum == first.sum && same;
    const long before = resident_bytes();
    while (torch.calls() < launches)
        same = model.run().sum == first.sum && same;
    const long growth = resident_bytes() - before;
    std::printf("%s\n", same ? "same results" : "results changed");
    if (growth <= kAllowedGrowth) {
        std::printf("flat\n");
    } else {
        std::printf("grew by %ld bytes after %ld\n", growth, before);
    }
    return 0;
}

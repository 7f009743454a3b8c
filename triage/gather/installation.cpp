// See installation.hpp.
#include "triage/gather/installation.hpp"

#include <sys/auxv.h>
#include <sys/utsname.h>

#include <filesystem>

namespace aoti_dbg {

namespace fs = std::filesystem;

std::string own_program() {
    std::error_code failed;
    const fs::path program = fs::read_symlink("/proc/self/exe", failed);
    if (!failed) return program.string();
    // Without /proc, it uses the path from exec.
    const auto* const executed = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    return executed == nullptr ? std::string() : fs::canonical(executed, failed).string();
}

std::optional<std::string> find_library() {
    const fs::path folder = fs::path(own_program()).parent_path();
    utsname machine{};
    uname(&machine);
    const fs::path lib = folder / ".." / "lib";
    for (const fs::path& place : {folder, lib, folder / ".." / "lib64",
                                  lib / (std::string(machine.machine) + "-linux-gnu"), lib / "aoti-dbg"}) {
        std::error_code failed;
        const fs::path library = fs::canonical(place / "libaoti_dbg.so", failed);
        if (!failed) return library.string();
    }
    return std::nullopt;
}

}  // namespace aoti_dbg

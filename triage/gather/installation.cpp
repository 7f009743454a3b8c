// See installation.hpp.
#include "triage/gather/installation.hpp"

#include <sys/auxv.h>
#include <sys/utsname.h>

#include <filesystem>
#include <vector>

#include "base/mapped_file.hpp"
#include "binary/elf_note.hpp"
#include "config/words.hpp"

namespace aoti_dbg {

namespace fs = std::filesystem;

namespace {

/// The folders of the wheel's package if `bin` is where the package manager put the command.
std::vector<fs::path> wheel_packages(const fs::path& bin) {
    constexpr const char* kPackage = "aoti_dbg";
    // `pip install --target`.
    std::vector<fs::path> packages = {bin / ".." / kPackage};
    // An unpacked wheel, to which `uv` can link an environment.
    if (bin.filename() == "scripts") packages.push_back(bin / ".." / ".." / kPackage);
    for (const char* lib : {"lib", "lib64"}) {
        std::error_code failed;
        fs::directory_iterator entry(bin / ".." / lib, failed);
        for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
            if (!entry->path().filename().string().starts_with("python")) continue;
            for (const char* modules : {"site-packages", "dist-packages"})
                packages.push_back(entry->path() / modules / kPackage);
        }
    }
    return packages;
}

}  // namespace

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
    std::vector<fs::path> places = {folder, lib, folder / ".." / "lib64",
                                    lib / (std::string(machine.machine) + "-linux-gnu"), lib / "aoti-dbg"};
    const std::vector<fs::path> packages = wheel_packages(folder);
    places.insert(places.end(), packages.begin(), packages.end());
    std::optional<std::string> first;
    for (const fs::path& place : places) {
        std::error_code failed;
        const fs::path library = fs::canonical(place / "libaoti_dbg.so", failed);
        if (failed) continue;
        if (library_version(library) == AOTI_DBG_VERSION) return library.string();
        if (!first) first = library.string();
    }
    return first;
}

std::string library_version(const std::string& library) {
    const Result<MappedFile> mapped = MappedFile::open(library);
    if (!mapped.ok()) return {};
    const Result<elf::File> file = elf::File::open(mapped.value().bytes());
    if (!file.ok()) return {};
    constexpr std::size_t kMostCharacters = 40;
    return printable(elf::note_text(file.value(), ".note.aoti_dbg", "aoti-dbg").value_or(""),
                     kMostCharacters);
}

}  // namespace aoti_dbg

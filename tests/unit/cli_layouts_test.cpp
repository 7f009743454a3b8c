// Where an installed command finds its library, how it detects a library from another release, and what
// `--version` says.
#include <sys/utsname.h>

#include <regex>
#include <sstream>

#include "tests/support/places.hpp"
#include "tests/unit/cli_installation.hpp"

namespace aoti_dbg::test::cli_layouts_test {

namespace fs = std::filesystem;

namespace {

/// Replaces the version in a library's note.
void set_version(const fs::path& library, const std::string& version) {
    const std::string own = AOTI_DBG_VERSION;
    REQUIRE(version.size() <= own.size());
    std::string bytes = read_text(library);
    const std::size_t owner = bytes.find(std::string("aoti-dbg\0\0\0\0", 12) + own);
    REQUIRE(owner != std::string::npos);
    bytes.replace(owner + 12, own.size(), version + std::string(own.size() - version.size(), '\0'));
    write_text(library, bytes);
}

/// The library that a command started by that path preloads.
std::string preloaded_by(const std::string& command) {
    const Outcome outcome = run_program({command, "run", "--", "printenv", "LD_PRELOAD"});
    CAPTURE(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    return outcome.out.substr(0, outcome.out.size() - 1);
}

std::string multiarch() {
    utsname machine{};
    uname(&machine);
    return "../lib/" + std::string(machine.machine) + "-linux-gnu";
}

}  // namespace

TEST_CASE(
    "The library is found beside the command, in the lib folders of a prefix, and in a wheel's package") {
    const std::string where =
        GENERATE(as<std::string>(), ".", "../lib", "../lib64", multiarch(), "../lib/aoti-dbg", "../aoti_dbg",
                 "../lib/python3.11/site-packages/aoti_dbg", "../lib64/python3.8/site-packages/aoti_dbg",
                 "../lib/python3/dist-packages/aoti_dbg", "../lib/python3.11/dist-packages/aoti_dbg");
    CAPTURE(where);
    const Installation installation(where, "prefix/bin");
    CHECK(installation.variable("LD_PRELOAD") == installation.library(where));
}

TEST_CASE("A command in an unpacked wheel finds the library of the wheel") {
    const Installation installation("../../aoti_dbg", "wheel/aoti_dbg-0.1.0.data/scripts");
    CHECK(installation.variable("LD_PRELOAD") == installation.library("../../aoti_dbg"));
}

TEST_CASE("A linked command, or a linked prefix, finds the library of the installation it leads to") {
    const Installation installation("../lib", "opt/aoti-dbg/bin");
    const fs::path folder = installation.folder.path();
    fs::create_directories(folder / "home/bin");
    fs::create_directories(folder / "home/lib");
    const fs::path absolute = folder / "home/bin/aoti-dbg";
    fs::create_symlink(installation.tool(), absolute);
    CHECK(preloaded_by(absolute) == installation.library("../lib"));
    const fs::path relative = folder / "home/bin/relative";
    fs::create_symlink("aoti-dbg", relative);
    CHECK(preloaded_by(relative) == installation.library("../lib"));
    fs::create_directory_symlink("opt/aoti-dbg", folder / "current");
    CHECK(preloaded_by(folder / "current/bin/aoti-dbg") == installation.library("../lib"));
}

TEST_CASE("Of several libraries, the command takes the one of its own version, else the first") {
    const Installation installation("../lib", "prefix/bin");
    const fs::path package =
        fs::canonical(installation.folder.path()) / "prefix/lib/python3.11/site-packages/aoti_dbg";
    fs::create_directories(package);
    fs::copy_file(places::kStandIn, package / "libaoti_dbg.so");
    CHECK(installation.variable("LD_PRELOAD") == installation.library("../lib"));
    set_version(installation.library("../lib"), "0.0.9");
    CHECK(installation.variable("LD_PRELOAD") == package / "libaoti_dbg.so");
    set_version(package / "libaoti_dbg.so", "0.0.8");
    CHECK(preloaded_by(installation.tool()) == installation.library("../lib"));
}

TEST_CASE("A library of another version gets one warning, and the program runs under it") {
    const Installation installation;
    set_version(installation.library(), "9.9");
    const Outcome outcome = installation.run({"--", "/bin/sh", "-c", "echo $LD_PRELOAD; exit 3"});
    CHECK(outcome.exit_code == 3);
    CHECK(outcome.out == installation.library() + "\n");
    const std::string expected = installation.library() + ": expected version " AOTI_DBG_VERSION
                                                          " (this command's), got 9.9. The program starts "
                                                          "nevertheless, but its report may be incomplete. ";
    CHECK(contains(outcome.err, "warn: " + expected));
    CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
}

TEST_CASE("A library whose file says no version is preloaded without a warning") {
    const Installation installation;
    set_version(installation.library(), "");
    CHECK(installation.variable("LD_PRELOAD") == installation.library());
}

TEST_CASE(
    "The version has the commit in its first line, then the PyTorch releases of the compatibility page") {
    const Outcome outcome = run_program({places::kTool, "--version"});
    CHECK(outcome.exit_code == 0);
    std::istringstream text(outcome.out);
    std::string line;
    std::getline(text, line);
    CAPTURE(line);
    CHECK(std::regex_match(
        line, std::regex("aoti-dbg [0-9]+\\.[0-9]+\\.[0-9]+ \\(([0-9a-f]{12}(-dirty)?|unknown)\\)")));
    CHECK(line.substr(9, line.find(' ', 9) - 9) == AOTI_DBG_VERSION);
    const std::string page = read_text(places::kCompatibilityPage);
    std::getline(text, line);
    REQUIRE(line.rfind("PyTorch   ", 0) == 0);
    CHECK(contains(page, "| PyTorch | " + line.substr(10) + " |"));
    std::getline(text, line);
    CHECK(std::regex_match(line, std::regex("GPU code  (none .*|compute capability [0-9]+\\.[0-9].*)")));
    std::getline(text, line);
    REQUIRE(line.rfind("glibc     ", 0) == 0);
    CHECK(contains(page, "Linux with glibc " + line.substr(10) + " |"));
    CHECK_FALSE(std::getline(text, line));
}

}  // namespace aoti_dbg::test::cli_layouts_test

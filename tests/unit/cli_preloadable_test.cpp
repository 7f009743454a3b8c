// Obstacles that keep the library out of a program, found before its start: real files, invented and broken
// ones, and whole runs of `aoti-dbg run`.
#include <elf.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "cli/run/preloadable.hpp"
#include "tests/unit/cli_installation.hpp"

using namespace aoti_dbg;
using namespace aoti_dbg::cli;
using namespace aoti_dbg::test;

namespace fs = std::filesystem;

// Makes failures readable.
namespace aoti_dbg::cli {
static std::ostream& operator<<(std::ostream& stream, Obstacle obstacle) {
    return stream << "obstacle " << static_cast<int>(obstacle);
}
}  // namespace aoti_dbg::cli

namespace {

Caller caller() {
    Caller result = Caller::current();
    result.may_gain_rights = true;
    return result;
}

FoundObstacle find(const std::string& program) {
    return find_obstacle(program, caller());
}

void write_program(const fs::path& path, const std::string& bytes) {
    write_text(path, bytes);
    fs::permissions(path, fs::perms::owner_all);
}

/// The bytes of a program with these program headers and then `rest`.
std::string program_bytes(const std::vector<Elf64_Phdr>& segments, const std::string& rest = {}) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    const std::string own = read_text("/proc/self/exe").substr(0, sizeof header);
    std::memcpy(&header, own.data(), own.size());
    header.e_type = ET_DYN;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<Elf64_Half>(segments.size());
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    for (const Elf64_Phdr& segment : segments)
        bytes.append(reinterpret_cast<const char*>(&segment), sizeof segment);
    return bytes + rest;
}

std::string loaded_by(const std::string& interpreter) {
    Elf64_Phdr segment{};
    segment.p_type = PT_INTERP;
    segment.p_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
    segment.p_filesz = interpreter.size() + 1;
    return program_bytes({segment}, interpreter + std::string(1, '\0'));
}

bool ignores_rights(const fs::path& place) {
    struct statvfs system {};
    if (statvfs(place.c_str(), &system) == 0 && (system.f_flag & ST_NOSUID) == 0) return false;
    WARN("skipped: files have no set-id bits here");
    return true;
}

/// `printenv` with another loader written into it, which the kernel looks up from the working directory.
std::string printenv_loaded_by(const std::string& interpreter) {
    std::string bytes = read_text("/usr/bin/printenv");
    const std::string own = "/lib64/ld-linux-x86-64.so.2";
    const std::size_t place = bytes.find(own);
    if (place == std::string::npos || interpreter.size() > own.size()) return {};
    bytes.replace(place, own.size(), interpreter + std::string(own.size() - interpreter.size(), '\0'));
    return bytes;
}

}  // namespace

TEST_CASE("Programs of this system have no obstacle, by path and by name, and neither do missing ones") {
    CHECK(find("/bin/sh").obstacle == Obstacle::none);
    CHECK(find("sh").obstacle == Obstacle::none);
    CHECK(find("/proc/self/exe").obstacle == Obstacle::none);
    for (const char* missing :
         {"", "no-such-program-here", "/no/such/program", "/", "/dev/null", "/dev/zero"})
        CHECK(find(missing).obstacle == Obstacle::none);
    CHECK(find(std::string(100000, 'a')).obstacle == Obstacle::none);
}

TEST_CASE("The loader itself is not a static program, because it preloads when called by name") {
    const fs::path loader = "/lib64/ld-linux-x86-64.so.2";
    if (fs::exists(loader)) CHECK(find(loader).obstacle == Obstacle::none);
}

TEST_CASE("Static programs are recognized, position-independent or not, and run with a warning") {
    std::vector<std::string> programs;
#ifdef AOTI_DBG_STATIC
    programs.emplace_back(AOTI_DBG_STATIC);
#endif
#ifdef AOTI_DBG_STATIC_PIE
    programs.emplace_back(AOTI_DBG_STATIC_PIE);
#endif
    if (programs.empty()) WARN("skipped: nothing can be linked statically here");
    const Installation installation;
    for (const std::string& program : programs) {
        const FoundObstacle finding = find(program);
        CHECK(finding.obstacle == Obstacle::statically_linked);
        CHECK(finding.file == program);
        const Outcome outcome = installation.run({"--", program, "a b"});
        CHECK(outcome.out == "<a b>");
        CHECK(outcome.exit_code == 7);
        CHECK(contains(outcome.err, program + " is statically linked, so LD_PRELOAD has no effect. The "
                                              "program starts nevertheless."));
        CHECK(contains(outcome.err, "no process loaded libaoti_dbg.so: " + program + " is statically"));
        CHECK(contains(installation.run({"--require", "model", "--", program}).err,
                       "--require model is not met: no process loaded libaoti_dbg.so: " + program));
    }
}

TEST_CASE("A program without an interpreter of its own is static, dynamic entries or not") {
    const TempFolder folder;
    const std::string path = folder.path() / "program";
    Elf64_Phdr load{};
    load.p_type = PT_LOAD;
    write_program(path, program_bytes({load}));
    CHECK(find(path).obstacle == Obstacle::statically_linked);
    Elf64_Phdr dynamic{};
    dynamic.p_type = PT_DYNAMIC;
    dynamic.p_offset = 0xffffffffffffff00;
    dynamic.p_filesz = 0xffffffffffffffff;
    write_program(path, program_bytes({load, dynamic}));
    CHECK(find(path).obstacle == Obstacle::statically_linked);
}

TEST_CASE("A program for another machine or word size is recognized by its header") {
    const TempFolder folder;
    const std::string path = folder.path() / "program";
    Elf32_Ehdr small{};
    std::memcpy(small.e_ident, ELFMAG, SELFMAG);
    small.e_ident[EI_CLASS] = ELFCLASS32;
    small.e_ident[EI_DATA] = ELFDATA2LSB;
    small.e_type = ET_EXEC;
    small.e_machine = EM_386;
    write_program(path, std::string(reinterpret_cast<const char*>(&small), sizeof small));
    CHECK(find(path).obstacle == Obstacle::other_machine);
    CHECK(contains(find(path).why, "32 bits"));

    std::string foreign = loaded_by("/lib/ld-linux.so.2");
    foreign[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_S390);
    write_program(path, foreign);
    CHECK(find(path).obstacle == Obstacle::other_machine);
    CHECK(contains(find(path).why, "another machine"));
}

TEST_CASE("Loaders other than glibc's are recognized by name, also behind a link") {
    const TempFolder folder;
    const std::string path = folder.path() / "program";
    const auto obstacle = [&](const std::string& interpreter) {
        write_program(path, loaded_by(interpreter));
        return find(path).obstacle;
    };
    CHECK(obstacle("/lib/ld-musl-x86_64.so.1") == Obstacle::other_loader);
    CHECK(obstacle("/system/bin/linker64") == Obstacle::other_loader);
    CHECK(obstacle("/lib/ld64-uClibc.so.0") == Obstacle::other_loader);
    CHECK(obstacle("/lib64/ld-linux-x86-64.so.2") == Obstacle::none);
    CHECK(obstacle("/nix/store/glibc-2.39/lib/ld-linux-x86-64.so.2") == Obstacle::none);
    write_text(folder.path() / "ld-musl-x86_64.so.1", "");
    const fs::path link = folder.path() / "ld-linux-x86-64.so.2";
    fs::create_symlink("ld-musl-x86_64.so.1", link);
    CHECK(obstacle(link) == Obstacle::other_loader);
}

TEST_CASE("A program with a loader that would refuse the library is started without it") {
    const Installation installation;
    const std::string bytes = printenv_loaded_by("./ld-musl-x86_64.so.1");
    if (bytes.empty()) {
        WARN("skipped: printenv has another loader here");
        return;
    }
    fs::copy_file("/lib64/ld-linux-x86-64.so.2", installation.folder.path() / "ld-musl-x86_64.so.1");
    write_program(installation.folder.path() / "program", bytes);
    const Outcome outcome = installation.run({"--", "./program", "LD_PRELOAD", "AOTI_DBG_DEFAULT_LEVEL"});
    CHECK(outcome.out == "3\n");
    CHECK(contains(outcome.err,
                   "./program uses the loader ./ld-musl-x86_64.so.1, which is not glibc's and would "
                   "reject the library. The program starts without the library."));
    CHECK(contains(outcome.err, "no process loaded libaoti_dbg.so: ./program uses the loader"));
}

TEST_CASE("Set-id bits are an obstacle for other users and groups") {
    const TempFolder folder;
    if (ignores_rights(folder.path())) return;
    const std::string path = folder.path() / "program";
    fs::copy_file("/bin/sh", path);
    struct stat info {};
    REQUIRE(stat(path.c_str(), &info) == 0);
    Caller same = caller();
    same.user = info.st_uid;
    same.group = info.st_gid;
    Caller other_user = same;
    ++other_user.user;
    Caller other_group = same;
    ++other_group.group;
    const auto obstacle = [&](mode_t mode, const Caller& who) {
        REQUIRE(chmod(path.c_str(), mode) == 0);
        return find_obstacle(path, who).obstacle;
    };
    CHECK(obstacle(04755, same) == Obstacle::none);
    CHECK(obstacle(04755, other_group) == Obstacle::none);
    CHECK(obstacle(04755, other_user) == Obstacle::secure_execution);
    CHECK(obstacle(02755, other_user) == Obstacle::none);
    CHECK(obstacle(02755, other_group) == Obstacle::secure_execution);
    // Without the right to execute, the group's bit means something else.
    CHECK(obstacle(02745, other_group) == Obstacle::none);
    CHECK(obstacle(00755, other_user) == Obstacle::none);
    other_user.may_gain_rights = false;
    CHECK(obstacle(04755, other_user) == Obstacle::none);
}

TEST_CASE("File capabilities are an obstacle for all users except root") {
    const TempFolder folder;
    if (ignores_rights(folder.path())) return;
    const std::string path = folder.path() / "program";
    fs::copy_file("/bin/sh", path);
    // Version 2; permitted: CAP_NET_RAW; little-endian.
    const unsigned char permitted[20] = {0, 0, 0, 2, 0, 0x20};
    if (setxattr(path.c_str(), "security.capability", permitted, sizeof permitted, 0) != 0) {
        WARN("skipped: files cannot be given capabilities here");
        return;
    }
    Caller who = caller();
    who.user = 1000;
    CHECK(find_obstacle(path, who).obstacle == Obstacle::secure_execution);
    who.user = 0;
    CHECK(find_obstacle(path, who).obstacle == Obstacle::none);
}

TEST_CASE("A setuid program runs with a warning, and nothing loads the library") {
    const Installation installation;
    const fs::path program = installation.folder.path() / "program";
    fs::copy_file("/usr/bin/printenv", program);
    if (geteuid() != 0 || chown(program.c_str(), 65534, getgid()) != 0 ||
        chmod(program.c_str(), 04755) != 0 || !Caller::current().may_gain_rights) {
        WARN("skipped: only root can give files away");
        return;
    }
    if (ignores_rights(program)) return;
    const Outcome outcome = installation.run({"--", program, "AOTI_DBG_DEFAULT_LEVEL"});
    CHECK(outcome.out == "3\n");
    CHECK(outcome.exit_code == 0);
    CHECK(contains(outcome.err, "warn: " + program.string() + " has more rights than you (setuid"));
    CHECK(
        contains(outcome.err, "no process loaded libaoti_dbg.so: " + program.string() + " has more rights"));
}

TEST_CASE("A script counts as its interpreter, however many scripts lie between") {
    const TempFolder folder;
    const std::string program = folder.path() / "program";
    write_program(program, loaded_by("/lib/ld-musl-x86_64.so.1"));
    const std::string script = folder.path() / "script";
    const auto found_in = [&](const std::string& text) {
        write_program(script, text);
        Caller who = caller();
        who.path = "/usr/bin:" + folder.path().string();
        return find_obstacle(script, who).file;
    };
    CHECK(found_in("#!" + program + "\n") == program);
    CHECK(found_in("#! \t" + program + " -x y \nrest") == program);
    CHECK(found_in("#!" + program) == program);
    CHECK(found_in("#!/usr/bin/env program\n") == program);
    CHECK(found_in("#!/usr/bin/env -S program -u\n") == program);
    CHECK(found_in("#!/usr/bin/env -S A=1 B=2 " + program + " -u\n") == program);
    CHECK(found_in("#!/usr/bin/env --split-string=program -u\n") == program);
    write_program(folder.path() / "between", "#!" + program + "\n");
    CHECK(found_in("#!" + (folder.path() / "between").string() + "\n") == program);
    // Unclear lines and lines that the kernel refuses give no result.
    for (const char* text : {"#!", "#!\n", "#! \t\n", "#!/usr/bin/env\n", "#!/usr/bin/env -i program\n",
                             "#!/usr/bin/env -S 'program' x\n", "#!/usr/bin/env -S\n", "#!/usr/bin/env A=1\n",
                             "#!/usr/bin/env -S PATH=/x program\n", "#!program\n", "", "text", "\n"}) {
        CAPTURE(text);
        CHECK(found_in(text).empty());
    }
    CHECK(found_in("#!" + std::string(300, 'x')).empty());
    CHECK(found_in("#!" + std::string(250, ' ') + program + "\n").empty());
}

TEST_CASE("Scripts that refer to each other do not loop forever") {
    const TempFolder folder;
    const std::string one = folder.path() / "one";
    const std::string other = folder.path() / "other";
    write_program(one, "#!" + other + "\n");
    write_program(other, "#!" + one + "\n");
    CHECK(find(one).obstacle == Obstacle::none);
    write_program(one, "#!/usr/bin/env " + one + "\n");
    CHECK(find(one).obstacle == Obstacle::none);
}

TEST_CASE("PATH is searched as execvp does") {
    const TempFolder folder;
    const fs::path first = folder.path() / "first";
    const fs::path second = folder.path() / "second";
    fs::create_directories(first / "a");
    fs::create_directories(second);
    write_text(first / "b", "");
    for (const char* name : {"a", "b", "c"})
        write_program(second / name, "");
    Caller who = caller();
    who.path = first.string() + ":/no/such/folder:" + second.string();
    // A folder, a file without execute rights and a missing file are skipped for the next entry.
    for (const char* name : {"a", "b", "c"})
        CHECK(executed_file(name, who) == (second / name).string());
    CHECK(executed_file("d", who).empty());
    CHECK(executed_file("./b", who) == "./b");
    who.path = "/no/such/folder::/x";
    CHECK(executed_file("c", who).empty());
    who.path = "";
    CHECK(executed_file("c", who).empty());
}

TEST_CASE("Truncated and broken programs do no harm and give no partial result") {
    const TempFolder folder;
    const std::string path = folder.path() / "program";
    const auto check = [&](const std::string& bytes) {
        write_program(path, bytes);
        const FoundObstacle finding = find(path);
        CHECK((finding.obstacle == Obstacle::none) == finding.why.empty());
        CHECK((finding.obstacle == Obstacle::none) == finding.file.empty());
        return finding.obstacle;
    };
    const std::string whole = loaded_by("/lib/ld-musl-x86_64.so.1");
    for (std::size_t length = 0; length < sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr); ++length)
        CHECK(check(whole.substr(0, length)) == Obstacle::none);
    std::mt19937 random(4);
    for (int i = 0; i < 3000; ++i) {
        std::string bytes = whole;
        // The bytes that make it a program of this machine stay as they are, so that the rest is inspected.
        for (unsigned n = 1 + random() % 4; n > 0; --n)
            bytes[EI_NIDENT + 4 + random() % (bytes.size() - EI_NIDENT - 4)] = static_cast<char>(random());
        (void)check(bytes);
    }
    Elf64_Phdr nowhere{};
    nowhere.p_type = PT_INTERP;
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1} << 40U, ~std::uint64_t{0}}) {
        for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{4096}, ~std::uint64_t{0}}) {
            nowhere.p_offset = offset;
            nowhere.p_filesz = size;
            CHECK(check(program_bytes({nowhere})) == Obstacle::none);
        }
    }
}

// The lines of a function by return address. Host compilers build a library whose calls note where they
// return to, and which line the source has for the call.
#include <dlfcn.h>

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "binary/function_lines.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::test::function_lines_test {
namespace {

/// Two levels of inlined helpers, as in generated wrappers. One of them is called twice.
constexpr const char* kSource = R"(extern "C" {
struct Note { int line; void* back; };
struct Note notes[64];
int used = 0;
__attribute__((noinline)) int note(int line) {
    notes[used].line = line;
    notes[used].back = __builtin_return_address(0);
    return used++;
}
}
#define CHECK(call) do { if ((call) < 0) throw 1; } while (0)
static inline void launch(int line) {
    CHECK(note(line));
}
template <typename T> static inline void call_kernel(const T& value, int line) {
    launch(line);
    if (value > 4) launch(line);
}
struct Model { __attribute__((noinline)) void run_impl(int n); };
void Model::run_impl(int n) {
    CHECK(note(__LINE__));
    call_kernel(n, __LINE__);
    {
        int twice = 2 * n;
        call_kernel(twice, __LINE__);
    }
    CHECK(note(__LINE__));
    call_kernel(3.5f, __LINE__);
    call_kernel(n + 1, __LINE__);
}
extern "C" void run() { Model().run_impl(5); }
)";
constexpr const char* kSymbol = "_ZN5Model8run_implE";

struct Note {
    int line;
    void* back;
};

bool is_there(const std::string& program) {
    return run_program({program, "--version"}).exit_code == 0;
}

/// A library built from kSource.
struct Built {
    Built(const std::string& compiler, const std::vector<std::string>& flags) {
        const std::string source = folder.path() / "w.cpp";
        path = folder.path() / "w.so";
        write_text(source, kSource);
        std::vector<std::string> command = {compiler, "-fPIC", "-shared", "-fno-omit-frame-pointer",
                                            "-gz=none"};
        command.insert(command.end(), flags.begin(), flags.end());
        command.insert(command.end(), {"-o", path, source});
        REQUIRE(run_program(command).exit_code == 0);
    }

    [[nodiscard]] Result<FunctionLines> lines() const {
        const std::string bytes = read_text(path);
        const Result<elf::File> file = elf::File::open(std::as_bytes(std::span(bytes)));
        REQUIRE(file.ok());
        return lines_of_function(file.value(), kSymbol);
    }

    /// Runs it. Returns the lines of its calls by return address in the file.
    [[nodiscard]] std::map<std::uint64_t, int> called() const {
        void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        REQUIRE(library != nullptr);
        auto* const run = reinterpret_cast<void (*)()>(dlsym(library, "run"));
        const auto* const notes = static_cast<const Note*>(dlsym(library, "notes"));
        const auto* const used = static_cast<const int*>(dlsym(library, "used"));
        run();
        Dl_info info{};
        REQUIRE(dladdr(reinterpret_cast<void*>(run), &info) != 0);
        std::map<std::uint64_t, int> found;
        for (int i = 0; i < *used; ++i)
            found[reinterpret_cast<std::uint64_t>(notes[i].back) -
                  reinterpret_cast<std::uint64_t>(info.dli_fbase)] = notes[i].line;
        dlclose(library);
        return found;
    }

    TempFolder folder;
    std::string path;
};

}  // namespace

TEST_CASE("A return address has the line of the call, also for calls inside inlined functions") {
    int judged = 0;
    for (const std::string compiler : {"g++", "clang++"}) {
        if (!is_there(compiler)) continue;
        for (const std::string version : {"4", "5"}) {
            for (const std::string level : {"-O1", "-O3"}) {
                CAPTURE(compiler, version, level);
                const std::string tables = compiler == "g++" ? "-g1" : "-gline-tables-only";
                const Built built(compiler, {"-gdwarf-" + version, tables, level});
                const Result<FunctionLines> lines = built.lines();
                REQUIRE(lines.ok());
                CHECK(lines.value().file.ends_with("w.cpp"));
                const std::map<std::uint64_t, int> called = built.called();
                CHECK(called.size() >= 6);
                int in_function = 0;
                for (const auto& [back, line] : called) {
                    const std::uint64_t offset = back - lines.value().address;
                    if (offset > lines.value().lines.size()) continue;  // in a helper that was not inlined
                    CHECK(lines.value().line_before(offset) == static_cast<std::uint32_t>(line));
                    ++in_function;
                }
                CHECK(in_function >= 4);
                ++judged;
            }
        }
    }
    if (judged == 0) WARN("no compiler to judge");
}

TEST_CASE("A library without debug information, or without the function, has no lines") {
    if (!is_there("g++")) return;
    const Built stripped("g++", {"-O1"});
    CHECK(stripped.lines().status().message().find("has no line table") != std::string::npos);
    const Built other("g++", {"-O1", "-g1", "-Drun_impl=walk_impl"});
    CHECK(other.lines().status().message().find("has no function") != std::string::npos);
}

TEST_CASE("Damaged debug information gives lines or none, and always ends") {
    if (!is_there("g++")) return;
    const Built built("g++", {"-O1", "-g1", "-gdwarf-5"});
    const std::string whole = read_text(built.path);
    const std::size_t size = built.lines().value().lines.size();
    const Result<elf::File> file = elf::File::open(std::as_bytes(std::span(whole)));
    std::mt19937 random(7);
    int without = 0;
    for (const char* name :
         {".debug_info", ".debug_abbrev", ".debug_rnglists", ".debug_line", ".debug_line_str"}) {
        const elf::Section section = file.value().section(file.value().find(name));
        if (section.content.empty()) continue;
        const auto begin =
            static_cast<std::size_t>(section.content.data() - std::as_bytes(std::span(whole)).data());
        for (int round = 0; round < 200; ++round) {
            std::string bytes = whole;
            for (int i = 0; i < 8; ++i)
                bytes[begin + random() % section.content.size()] = static_cast<char>(random());
            const Result<elf::File> damaged = elf::File::open(std::as_bytes(std::span(bytes)));
            REQUIRE(damaged.ok());
            const Result<FunctionLines> lines = lines_of_function(damaged.value(), kSymbol);
            without += lines.ok() ? 0 : 1;
            if (lines.ok()) CHECK(lines.value().lines.size() == size);
        }
    }
    CHECK(without > 0);
}

}  // namespace aoti_dbg::test::function_lines_test

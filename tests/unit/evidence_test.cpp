// The evidence kept of a model's package: odd folders first, then that it is whole, shared and left alone.
#include "shim/record/evidence.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/support/catch.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::test::evidence_test {

namespace fs = std::filesystem;

namespace {

void write_file(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

/// A package as the loader unpacks it, below `folder`.
fs::path make_package(const fs::path& folder, const std::string& source = "int main;") {
    write_file(folder / "cabc.wrapper.cpp", source);
    write_file(folder / "cabc.wrapper_metadata.json", "{}");
    write_file(folder / "cdef.kernel.cpp", "kernel");
    write_file(folder / "ck0.cubin", std::string(1000, '\x7f'));
    write_file(folder / "cabc.wrapper.so", "no ELF");
    write_file(folder / "weights.bin", "1234");
    return folder / "cabc.wrapper.so";
}

std::set<std::string> names_in(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
        names.insert(entry.path().filename().string());
    return names;
}

KeptEvidence keep(const fs::path& library, const fs::path& out, std::uint64_t most = 1U << 20U,
                  const TorchLibrary& torch = {}) {
    fs::create_directories(out);
    const Result<KeptEvidence> kept = keep_evidence(library.string(), out.string(), most, torch);
    if (!kept.ok()) FAIL(kept.status().message());
    return kept.value();
}

mode_t mode_of(const fs::path& path) {
    struct stat info {};
    REQUIRE(stat(path.c_str(), &info) == 0);
    return info.st_mode & 07777U;
}

}  // namespace

TEST_CASE("If a package is gone nothing is kept, and no folder is created") {
    const TempFolder folder;
    CHECK(keep(folder.path() / "none" / "c.so", folder.path()).folder.empty());
    CHECK(keep("c.so", folder.path()).folder.empty());
    CHECK(names_in(folder.path()).empty());
}

TEST_CASE("If it cannot be written, the failure says where, and leaves nothing behind") {
    const TempFolder folder;
    const fs::path library = make_package(folder.path() / "p");
    write_file(folder.path() / "out", "a file");
    const Result<KeptEvidence> kept =
        keep_evidence(library.string(), (folder.path() / "out").string(), 1U << 20U);
    REQUIRE_FALSE(kept.ok());
    CHECK(kept.status().message().find((folder.path() / "out").string()) != std::string::npos);
    CHECK(fs::is_regular_file(folder.path() / "out"));
}

TEST_CASE("A file size limit below the size of the evidence ends no program, and leaves nothing behind") {
    const TempFolder folder;
    const fs::path library = make_package(folder.path() / "p");
    const fs::path out = folder.path() / "out";
    fs::create_directories(out);
    const int status = in_child([&] {
        const rlimit limit{64, 64};
        setrlimit(RLIMIT_FSIZE, &limit);
        const Result<KeptEvidence> kept = keep_evidence(library.string(), out.string(), 1U << 20U);
        ::_exit(!kept.ok() && kept.status().error_number() == EFBIG ? 0 : 2);
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(fs::is_empty(out / "evidence"));
}

TEST_CASE("Only regular files are read, without waiting, and too large ones are left out") {
    const TempFolder folder;
    const fs::path library = make_package(folder.path() / "p");
    REQUIRE(mkfifo((folder.path() / "p" / "pipe.json").c_str(), 0600) == 0);
    fs::create_symlink("nowhere", folder.path() / "p" / "gone.json");
    fs::create_directory(folder.path() / "p" / "folder.json");
    const KeptEvidence kept = keep(library, folder.path());
    CHECK(kept.left_out == 3);
    CHECK(names_in(kept.folder).count("pipe.json") == 0);

    write_file(folder.path() / "p" / "ck0.cubin", std::string(5000, 'x'));
    CHECK(kept.bytes == 1017);
    const KeptEvidence small = keep(library, folder.path() / "other", 4000);
    CHECK(small.left_out == 4);
    CHECK(names_in(small.folder).count("ck0.cubin") == 0);
    CHECK(names_in(small.folder).count("cabc.wrapper.cpp") == 1);
}

TEST_CASE("Evidence is the package without library and weights, for its owner only, and outlives it") {
    const TempFolder folder;
    const fs::path library = make_package(folder.path() / "p");
    const KeptEvidence kept = keep(library, folder.path() / "out");
    CHECK(kept.left_out == 0);
    CHECK(fs::path(kept.folder).filename().string().rfind("cabc-", 0) == 0);
    fs::remove_all(folder.path() / "p");
    CHECK(names_in(kept.folder) == std::set<std::string>{"cabc.wrapper.cpp", "cabc.wrapper_metadata.json",
                                                         "cdef.kernel.cpp", "ck0.cubin", "library.json"});
    CHECK(read_text(fs::path(kept.folder) / "cabc.wrapper.cpp") == "int main;");
    CHECK(read_text(fs::path(kept.folder) / "ck0.cubin") == std::string(1000, '\x7f'));
    CHECK(read_text(fs::path(kept.folder) / "library.json") ==
          "{\"library\":\"cabc.wrapper.so\",\"path\":\"" + library.string() +
              "\",\"bytes\":6,\"build_id\":\"\",\"left_out\":0}\n");
    CHECK(mode_of(kept.folder) == 0700);
    CHECK(mode_of(folder.path() / "out" / "evidence") == 0700);
    CHECK(mode_of(fs::path(kept.folder) / "library.json") == 0600);
    CHECK(names_in(folder.path() / "out" / "evidence").size() == 1);
}

TEST_CASE("The version of the model's torch is recorded as it is now, or not at all if torch has none") {
    const TempFolder folder;
    const fs::path library = make_package(folder.path() / "p");
    const auto torch_members = [&](const TorchLibrary& torch) {
        const KeptEvidence kept = keep(library, folder.path(), 1U << 20U, torch);
        CHECK(names_in(kept.folder).size() == 5);
        CHECK(names_in(folder.path() / "evidence").size() == 1);
        CHECK(mode_of(fs::path(kept.folder) / "library.json") == 0600);
        const std::string text = read_text(fs::path(kept.folder) / "library.json");
        return text.substr(text.find("\"left_out\""));
    };
    CHECK(torch_members({}) == "\"left_out\":0}\n");
    const std::string old = "\"left_out\":0,\"torch\":\"2.9.0\",\"torch_library\":\"/a/libtorch_cpu.so\"}\n";
    CHECK(torch_members({"/a/libtorch_cpu.so", "2.9.0"}) == old);
    CHECK(torch_members({"/a/libtorch_cpu.so", "2.9.0"}) == old);
    CHECK(torch_members({"/\",\"torch\":/x}", "2.11.0"}) ==
          "\"left_out\":0,\"torch\":\"2.11.0\",\"torch_library\":\"/\\\",\\\"torch\\\":/x}\"}\n");
    CHECK(torch_members({"/a/libtorch_cpu.so", "2.9.0"}) == old);
    CHECK(torch_members({}) == "\"left_out\":0}\n");
    CHECK(torch_members({"/a/libtorch_cpu.so", "2.9.0"}) == old);
}

TEST_CASE("A library other than the shim gives no torch version") {
    CHECK(find_torch_library(nullptr).version.empty());
    const TorchLibrary none = find_torch_library(reinterpret_cast<const void*>(&::getenv));
    CHECK(none.version.empty());
    CHECK(none.path.empty());
}

TEST_CASE("Files on another file system, which cannot be linked, are copied") {
    const TempFolder folder;
    const fs::path elsewhere = fs::path("/dev/shm") / folder.path().filename();
    struct stat here {};
    struct stat there {};
    if (stat(folder.path().c_str(), &here) != 0 || stat("/dev/shm", &there) != 0 ||
        here.st_dev == there.st_dev)
        return;
    const KeptEvidence kept = keep(make_package(elsewhere), folder.path());
    fs::remove_all(elsewhere);
    const fs::path image = fs::path(kept.folder) / "ck0.cubin";
    CHECK(read_text(image) == std::string(1000, '\x7f'));
    CHECK(mode_of(image) == 0600);
}

TEST_CASE("The package's own files stay as they are") {
    const TempFolder folder;
    const fs::path library = make_package(folder.path() / "p");
    const fs::path source = folder.path() / "p" / "cabc.wrapper.cpp";
    REQUIRE(chmod(source.c_str(), 0644) == 0);
    const KeptEvidence kept = keep(library, folder.path());
    CHECK(mode_of(source) == 0644);
    CHECK(names_in(folder.path() / "p").size() == 6);
    CHECK_FALSE(kept.folder.empty());
}

TEST_CASE("The same contents elsewhere have the same folder, and others another one") {
    const TempFolder folder;
    const KeptEvidence one = keep(make_package(folder.path() / "a"), folder.path());
    const KeptEvidence same = keep(make_package(folder.path() / "b"), folder.path());
    const KeptEvidence other = keep(make_package(folder.path() / "c", "int main ;"), folder.path());
    CHECK(one.folder == same.folder);
    CHECK(one.folder != other.folder);
    CHECK(names_in(folder.path() / "evidence").size() == 2);
}

TEST_CASE("Each model of a package is a line beside it, for its owner alone") {
    const TempFolder folder;
    const KeptEvidence kept = keep(make_package(folder.path() / "a"), folder.path());
    CHECK(note_model({4242, 1'700'000'000'000'000'001U, 0, "/a/cabc.wrapper.so", ""}, kept.folder).ok());
    CHECK(note_model({4243, 17, 65534, "/\"b\n/cabc.wrapper.so", "/t/c.cpp"}, kept.folder).ok());
    const fs::path models = fs::path(kept.folder) / "models.jsonl";
    CHECK(read_text(models) ==
          "{\"pid\":4242,\"start_ns\":1700000000000000001,\"model\":0,\"path\":\"/a/cabc.wrapper.so\"}\n"
          "{\"pid\":4243,\"start_ns\":17,\"model\":65534,\"path\":\"/\\\"b?/cabc.wrapper.so\","
          "\"source\":\"/t/c.cpp\"}\n");
    CHECK(mode_of(models) == 0600);
    // Keeping them again leaves them in place.
    CHECK(keep(make_package(folder.path() / "b"), folder.path()).folder == kept.folder);
    CHECK(names_in(kept.folder).count("models.jsonl") == 1);

    const Status status = note_model({}, (folder.path() / "none").string());
    REQUIRE_FALSE(status.ok());
    CHECK(status.message().find((folder.path() / "none" / "models.jsonl").string()) != std::string::npos);
}

TEST_CASE("If several models share a folder, only files of this one are kept") {
    const TempFolder folder;
    const fs::path library = make_package(folder.path() / "p");
    write_file(folder.path() / "p" / "cxyz.wrapper.so", "no ELF");
    write_file(folder.path() / "p" / "cxyz.wrapper.cpp", "other");
    CHECK(names_in(keep(library, folder.path()).folder) ==
          std::set<std::string>{"cabc.wrapper.cpp", "cabc.wrapper_metadata.json", "library.json"});
}

TEST_CASE("Of a folder of temporary files, only files with the model's name are kept") {
    const TempFolder folder;
    const fs::path library = make_package(folder.path() / "tmp");
    fs::permissions(library.parent_path(), fs::perms::sticky_bit, fs::perm_options::add);
    CHECK(names_in(keep(library, folder.path()).folder) ==
          std::set<std::string>{"cabc.wrapper.cpp", "cabc.wrapper_metadata.json", "library.json"});
}

TEST_CASE("Of a Python wrapper its source is kept, and its call sites, and nothing next to it") {
    const TempFolder folder;
    const fs::path wrapper = folder.path() / "cache" / "cabc.py";
    write_file(wrapper, "def call(args): ...");
    write_file(folder.path() / "cache" / "cother.py", "");
    write_file(folder.path() / "cache" / "ckernel.cpp", "");
    fs::create_directories(folder.path() / "out");
    const std::string out = (folder.path() / "out").string();
    const Result<KeptEvidence> kept = keep_evidence(wrapper.string(), out, 1U << 20U, {}, R"({"sites":[]})");
    REQUIRE(kept.ok());
    CHECK(fs::path(kept.value().folder).filename().string().rfind("cabc-", 0) == 0);
    CHECK(names_in(kept.value().folder) == std::set<std::string>{"cabc.py", "library.json", "sites.json"});
    CHECK(read_text(fs::path(kept.value().folder) / "sites.json") == R"({"sites":[]})");
    // Another description is not the same model.
    const Result<KeptEvidence> other =
        keep_evidence(wrapper.string(), out, 1U << 20U, {}, R"({"sites":[1]})");
    REQUIRE(other.ok());
    CHECK(other.value().folder != kept.value().folder);
}

TEST_CASE("The build id of a library is reported if it has one") {
    const TempFolder folder;
    fs::create_directories(folder.path() / "p");
    fs::copy_file("/proc/self/exe", folder.path() / "p" / "c.so");
    const KeptEvidence kept = keep(folder.path() / "p" / "c.so", folder.path());
    const std::string description = read_text(fs::path(kept.folder) / "library.json");
    CAPTURE(description);
    CHECK(description.find("\"library\":\"c.so\"") != std::string::npos);
    const std::size_t id = description.find("\"build_id\":\"");
    REQUIRE(id != std::string::npos);
    // This program may have been linked without one.
    const std::string digits = description.substr(id + 12, description.find('"', id + 12) - id - 12);
    CHECK(digits.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK((digits.empty() || digits.size() >= 16));
}

}  // namespace aoti_dbg::test::evidence_test

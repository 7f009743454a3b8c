// Saving by one thread: unexpected folders first, then caps and kept runs.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "shim/record/preallocated_file.hpp"
#include "shim/record/written_bytes.hpp"
#include "tests/support/in_child.hpp"
#include "tests/unit/saver_fixture.hpp"

namespace aoti_dbg::test::tensor_saver_test {

namespace fs = std::filesystem;

namespace {

const char* const kFirst = "run0000/call0000/before_launch_triton_poi_fused_0_buf0_cuda:0.pt";

bool has_line(const Saving& saving, const std::string& part) {
    for (const std::string& line : saving.said) {
        if (line.find(part) != std::string::npos) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("A folder that was replaced by a link ends saving, and nothing is written to its target") {
    const TempFolder out;
    const TempFolder elsewhere;
    Saving saving(settings_in(out.path()));
    REQUIRE(saving.save(sample_of(0, 0, 1)) == kFirst);
    const fs::path tensors = out.path() / "tensors";
    SECTION("the folder itself") {
        fs::rename(tensors, out.path() / "moved");
        fs::create_directory_symlink(elsewhere.path(), tensors);
    }
    SECTION("a folder in it") {
        fs::create_directory_symlink(elsewhere.path(), tensors / "run0001");
    }
    SECTION("another folder, not a link") {
        fs::rename(tensors, out.path() / "moved");
        fs::create_directory(tensors);
    }
    SECTION("a file") {
        fs::rename(tensors, out.path() / "moved");
        write_text(tensors, "somebody's");
    }
    CHECK(saving.save(sample_of(1, 0, 2)).empty());
    CHECK(saving.save(sample_of(1, 1, 3)).empty());
    REQUIRE(saving.said.size() == 1);
    CHECK(has_line(saving, out.path().string() + "/tensors"));
    CHECK(has_line(saving, ". No more tensors are saved. Set AOTI_DBG_OUT to "));
    CHECK(saving.saver().is_stopped());
    CHECK(fs::is_empty(elsewhere.path()));
    CHECK(saving.left_out(LeftOut::failed) == 1);
    CHECK(saving.left_out(LeftOut::stopped) == 1);
}

TEST_CASE("A folder that was deleted ends saving with one line") {
    const TempFolder out;
    Saving saving(settings_in(out.path()));
    saving.saver().keep_folders_open(GENERATE(false, true));
    REQUIRE(saving.save(sample_of(0, 0, 1)) == kFirst);
    fs::remove_all(out.path() / "tensors");
    CHECK(saving.save(sample_of(0, 0, 2)).empty());
    CHECK(saving.save(sample_of(0, 1, 3)).empty());
    CHECK(saving.said.size() == 1);
    CAPTURE(saving.said);
    CHECK(has_line(saving, ": no such file or directory. No more tensors are saved. Set AOTI_"));
    CHECK_FALSE(fs::exists(out.path() / "tensors" / "run0000"));
}

TEST_CASE("A name that is a symbolic link is neither followed nor replaced") {
    const TempFolder out;
    const TempFolder elsewhere;
    Saving saving(settings_in(out.path()));
    const fs::path call = out.path() / "tensors/run0000/call0000";
    fs::create_directories(call);
    const fs::path taken = out.path() / "tensors" / kFirst;
    fs::create_symlink(elsewhere.path() / "victim", taken);
    const std::string path = saving.save(sample_of(0, 0, 1));
    CHECK(path == "run0000/call0000/before_launch_triton_poi_fused_0_buf0_cuda:0.2.pt");
    CHECK(fs::is_symlink(taken));
    CHECK(fs::is_empty(elsewhere.path()));
    CHECK(saving.said.empty());
}

TEST_CASE("An unwritable place is reported before anything is saved") {
    const Saving none(settings_in("/proc/no/such/folder"));
    REQUIRE_FALSE(none.made.ok());
    CHECK(none.made.status().message().find("/proc/no/such/folder/tensors") != std::string::npos);
    const TempFolder out;
    write_text(out.path() / "file", "");
    SavingSettings settings = settings_in(out.path());
    settings.place.flat = (out.path() / "file" / "aoti_torch").string();
    CHECK_FALSE(Saving(settings).made.ok());
    settings.place.flat = (out.path() / "link").string();
    fs::create_directory_symlink(out.path(), settings.place.flat);
    CHECK_FALSE(Saving(settings).made.ok());
    settings.place.follows_link = true;
    CHECK(Saving(settings).made.ok());
}

TEST_CASE("Beyond the file size limit a tensor is skipped, the program lives, and smaller ones are saved") {
    const TempFolder out;
    const int status = in_child([&out] {
        const rlimit limit{8192, 8192};
        setrlimit(RLIMIT_FSIZE, &limit);
        sigset_t blocked;  // as in the library's threads
        sigfillset(&blocked);
        pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
        Saving saving(settings_in(out.path()));
        if (!saving.save(sample_of(0, 0, 1, 100000)).empty()) ::_exit(1);
        if (saving.save(sample_of(0, 1, 2)).empty()) ::_exit(2);
        if (saving.said.size() != 1 || !has_line(saving, "Raise the file size limit")) ::_exit(3);
        if (saving.left_out(LeftOut::too_large) != 1 || saving.saver().is_stopped()) ::_exit(4);
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(tensors_in(out.path() / "tensors").size() == 1);
}

TEST_CASE("If descriptors are shared, one that the program has taken over is not written to") {
    const TempFolder out;
    const int status = in_child([&out] {
        Saving saving(settings_in(out.path()));
        SavingJob job;
        const Sample half = sample_of(0, 0, 1, 4096);
        const std::vector<std::byte> content = half.content();
        with_description(half, [&](const TensorToSave& what) { return saving.saver().open(what, job); });
        if (saving.saver().begin(job, false, saving.hand) != TensorSaver::Begun::writes) ::_exit(1);
        saving.saver().write(job, std::span(content).first(100), false);
        for (int number = 3; number < 100; ++number)
            ::close(number);
        const std::string own = (out.path() / "own").string();
        for (int i = 0; i < 20; ++i)
            if (::open(own.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600) < 0) ::_exit(2);
        saving.saver().write(job, std::span(content).subspan(100), true);
        saving.saver().finish(job, saving.hand);
        if (fs::file_size(own) != 0) ::_exit(3);
        if (fcntl(22, F_GETFD) == -1) ::_exit(4);  // nor is it closed
        if (saving.left_out(LeftOut::failed) != 1 || saving.said.size() != 1) ::_exit(5);
        if (saving.save(sample_of(0, 1, 2)).empty()) ::_exit(6);
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(tensors_in(out.path() / "tensors").size() == 1);
}

TEST_CASE("Saving stops before the last tenth of the file system, and says where that is") {
    const TempFolder out;
    static std::uint64_t available = 0;
    FileCalls calls = system_file_calls();
    calls.inspect_disk = [](int, struct statvfs* found) {
        *found = {};
        found->f_frsize = 1000;
        found->f_blocks = 1000;
        found->f_bavail = available;
        return 0;
    };
    available = 110;
    Saving saving(settings_in(out.path()), calls);
    CHECK_FALSE(saving.save(sample_of(0, 0, 1, 4000)).empty());
    available = 104;
    CHECK(saving.save(sample_of(0, 1, 2, 4000)).empty());
    REQUIRE(saving.said.size() == 1);
    CHECK(has_line(saving, "the last tenth of the file system of " + out.path().string()));
    CHECK(has_line(saving, "Set AOTI_DBG_OUT to a directory on a larger file system"));
    CHECK(saving.left_out(LeftOut::no_room) == 1);
}

TEST_CASE("The growth of our other files counts, and a forked child starts from zero") {
    const TempFolder out;
    const std::uint64_t before = written_bytes();
    Result<PreallocatedFile> file = PreallocatedFile::create((out.path() / "log").string());
    REQUIRE(file.ok());
    REQUIRE(file.value().extend(8192, '\n').ok());
    REQUIRE(file.value().append("text", 4).ok());
    CHECK(written_bytes() == before + 8196);
    REQUIRE(file.value().truncate(10).ok());
    CHECK(written_bytes() == before + 10);
    const int status = in_child([] { ::_exit(written_bytes() == 0 ? 0 : 1); });
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("At the cap on bytes saving stops with one line that names the option, whatever wrote the bytes") {
    const TempFolder out;
    SavingSettings settings = settings_in(out.path());
    settings.max_bytes = written_bytes() + 40000;
    Saving saving(settings);
    std::size_t saved = 0;
    for (std::uint32_t call = 0; call < 100; ++call)
        saved += saving.save(sample_of(0, call, call, 1000)).empty() ? 0 : 1;
    CHECK(saved > 10);
    CHECK(saved < 30);
    REQUIRE(saving.said.size() == 1);
    CHECK(has_line(saving, "kB that AOTI_DBG_MAX_BYTES allows"));
    CHECK(has_line(saving, "AOTI_DBG_KEEP=last:N"));
    std::uintmax_t all = 0;
    for (const auto& entry : fs::recursive_directory_iterator(out.path()))
        if (entry.is_regular_file()) all += entry.file_size();
    CHECK(all <= 40000);
    saving.saver().end("complete");
    const ReadIndex index = read_index(saving.saver().index_path());
    CHECK(index.end == "stopped");
    CHECK(names_of(index) == tensors_in(out.path() / "tensors"));
}

TEST_CASE("At the cap on files saving stops with one line that names the option, links counted") {
    const TempFolder out;
    SavingSettings settings = settings_in(out.path());
    settings.max_files = 3;
    Saving saving(settings);
    for (std::uint32_t call = 0; call < 10; ++call)
        saving.save(sample_of(0, call, 1));
    CHECK(tensors_in(out.path() / "tensors").size() == 3);
    REQUIRE(saving.said.size() == 1);
    CHECK(has_line(saving, "already has 3 files"));
    CHECK(has_line(saving, "AOTI_DBG_MAX_FILES"));
}

TEST_CASE("With a window the oldest run is removed whole, its bytes are free again, and the index says so") {
    const TempFolder out;
    SavingSettings settings = settings_in(out.path());
    settings.keep_last = 2;
    Saving saving(settings);
    for (std::uint32_t run = 0; run < 5; ++run) {
        for (std::uint32_t call = 0; call < 3; ++call)
            CHECK_FALSE(saving.save(sample_of(run, call, run * 10 + call)).empty());
        saving.saver().end_run(run, false);
        saving.evict();
    }
    const std::set<std::string> left = tensors_in(out.path() / "tensors");
    CHECK(left.size() == 6);
    CHECK_FALSE(fs::exists(out.path() / "tensors/run0002"));
    CHECK(fs::exists(out.path() / "tensors/run0003"));
    saving.saver().end("complete");
    const ReadIndex index = read_index(saving.saver().index_path());
    CHECK(index.end == "complete");
    CHECK(names_of(index) == left);
    CHECK(read_text(saving.saver().index_path())
              .find(R"({"event":"evicted","run":0,"why":"older than the last runs","files":3})") !=
          std::string::npos);
    CHECK(saving.said.empty());
}

TEST_CASE(
    "With a window and no room the oldest run makes room, and a run that is too large is reported once") {
    const TempFolder out;
    SavingSettings settings = settings_in(out.path());
    settings.keep_last = 1000;
    settings.max_bytes = 100000;
    Saving saving(settings);
    for (std::uint32_t run = 0; run < 20; ++run)
        CHECK_FALSE(saving.save(sample_of(run, 0, run, 20000)).empty());
    CHECK(saving.said.empty());
    CHECK(tensors_in(out.path() / "tensors").size() <= 4);
    CHECK(fs::exists(out.path() / "tensors/run0019"));
    for (std::uint32_t call = 0; call < 10; ++call)
        saving.save(sample_of(20, call, 100 + call, 20000));
    CHECK_FALSE(fs::exists(out.path() / "tensors/run0019"));
    REQUIRE(saving.said.size() == 1);
    CHECK(has_line(saving, "The rest of run 20 is not saved, nor are later tensors that do not fit."));
    CHECK_FALSE(saving.saver().is_stopped());
    CHECK_FALSE(saving.save(sample_of(21, 0, 200, 20000)).empty());
}

TEST_CASE("A weight that an older run saved stays when that run is removed, and its bytes count once") {
    const TempFolder out;
    SavingSettings settings = settings_in(out.path());
    settings.keep_last = 1;
    settings.max_bytes = 60000;
    Saving saving(settings);
    for (std::uint32_t run = 0; run < 50; ++run) {
        Sample weight = sample_of(run, 0, 7, 20000);
        weight.label = "weight";
        const std::string path = saving.save(weight);
        REQUIRE_FALSE(path.empty());
        CHECK(read_text(out.path() / "tensors" / path) == file_of(weight));
        saving.saver().end_run(run, false);
        saving.evict();
    }
    CHECK(saving.saver().counts().linked == 49);
    CHECK(saving.said.empty());
    CHECK(tensors_in(out.path() / "tensors").size() == 1);
}

TEST_CASE("With findings alone, runs without one leave nothing behind except their lines") {
    const TempFolder out;
    SavingSettings settings = settings_in(out.path());
    settings.only_findings = true;
    Saving saving(settings);
    for (std::uint32_t run = 0; run < 4; ++run) {
        saving.save(sample_of(run, 0, run));
        if (run != 3) saving.saver().end_run(run, run == 1);
        saving.evict();
    }
    const std::set<std::string> left = tensors_in(out.path() / "tensors");
    CHECK(left.size() == 2);  // the one with the finding and the unfinished one
    CHECK_FALSE(fs::exists(out.path() / "tensors/run0000"));
    CHECK(names_of(read_index(saving.saver().index_path())) == left);
}

TEST_CASE("Foreign files in a run's folder stay when the run is removed") {
    const TempFolder out;
    SavingSettings settings = settings_in(out.path());
    settings.only_findings = true;
    Saving saving(settings);
    saving.save(sample_of(0, 0, 1));
    const fs::path notes = out.path() / "tensors/run0000/call0000/notes.txt";
    write_text(notes, "mine");
    saving.saver().end_run(0, false);
    saving.evict();
    CHECK(read_text(notes) == "mine");
    CHECK(tensors_in(out.path() / "tensors").empty());
    CHECK(saving.said.empty());
}

TEST_CASE("A run's folder that was replaced by a link is not emptied through it") {
    const TempFolder out;
    const TempFolder elsewhere;
    SavingSettings settings = settings_in(out.path());
    settings.only_findings = true;
    Saving saving(settings);
    saving.save(sample_of(0, 0, 1));
    fs::copy(out.path() / "tensors/run0000", elsewhere.path() / "run0000", fs::copy_options::recursive);
    fs::remove_all(out.path() / "tensors/run0000");
    fs::create_directory_symlink(elsewhere.path() / "run0000", out.path() / "tensors/run0000");
    saving.saver().end_run(0, false);
    saving.evict();
    CHECK(tensors_in(elsewhere.path()).size() == 1);
    CHECK(saving.said.size() == 1);
}

}  // namespace aoti_dbg::test::tensor_saver_test

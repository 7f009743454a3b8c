// Files that one thread saves: links between equal ones, then their bytes, names, modes and lines in the
// index.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <span>
#include <vector>

#include "tests/unit/saver_fixture.hpp"

namespace aoti_dbg::test::tensor_saver_files_test {

namespace fs = std::filesystem;

namespace {

struct stat look(const fs::path& path) {
    struct stat found {};
    REQUIRE(lstat(path.c_str(), &found) == 0);
    return found;
}

std::string member(const std::string& line, const std::string& name) {
    JsonLine parsed;
    if (!parsed.parse(line)) return "?";
    return std::string(parsed.root().member(name).text());
}

}  // namespace

TEST_CASE("An equal tensor is linked, and one with the same bytes in another layout is not") {
    const TempFolder out;
    Saving saving(settings_in(out.path()));
    const std::string first = saving.save(sample_of(0, 0, 7));
    const std::string second = saving.save(sample_of(0, 1, 7));
    const fs::path tensors = out.path() / "tensors";
    CHECK(look(tensors / first).st_ino == look(tensors / second).st_ino);
    CHECK(saving.saver().counts().linked == 1);
    const std::uint64_t written = saving.saver().counts().bytes;
    // The same content, seen as four rows.
    const Sample base = sample_of(0, 2, 7);
    SavingJob job;
    const std::vector<std::int64_t> sizes = {4, 4};
    const std::vector<std::int64_t> strides = {4, 1};
    TensorToSave what;
    what.place = {base.side, base.run, base.call, 7, base.kernel, base.label, "cuda:0"};
    what.tensor = {DType::float32, sizes, strides, 0, base.bytes, "cuda:0"};
    REQUIRE(saving.saver().open(what, job));
    job.facts.hash = base.hash();
    REQUIRE(saving.saver().begin(job, true, saving.hand) == TensorSaver::Begun::writes);
    saving.saver().write(job, base.content(), true);
    saving.saver().finish(job, saving.hand);
    CHECK(saving.saver().counts().linked == 1);
    CHECK(saving.saver().counts().bytes > written);
    const ReadIndex index = read_index(saving.saver().index_path());
    CHECK(member(index.files.at(second), "linked_to") == first);
    CHECK(member(index.files.at(second), "hash") == "00000000000000070000000000000040");
    CHECK(index.files.size() == 3);
}

TEST_CASE(
    "A tensor whose bytes are all known at the start gets the same file as one that arrives in pieces") {
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{4}, std::size_t{4096}, std::size_t{3} << 20U}) {
        const TempFolder out;
        Saving saving(settings_in(out.path()));
        const Sample sample = sample_of(0, 0, 7, bytes);
        const std::vector<std::byte> content = sample.content();
        SavingJob job;
        REQUIRE(with_description(sample,
                                 [&](const TensorToSave& what) { return saving.saver().open(what, job); }));
        REQUIRE(saving.saver().begin(job, true, saving.hand, content) == TensorSaver::Begun::writes);
        const std::size_t half = bytes / 2;
        saving.saver().write(job, std::span(content).first(half), false);
        saving.saver().write(job, std::span(content).subspan(half), true);
        saving.saver().finish(job, saving.hand);
        CHECK(read_text(out.path() / "tensors" / job.path()) == file_of(sample));
    }
}

TEST_CASE("If the kernel refuses its descriptor, a file gets its name through /proc") {
    const TempFolder out;
    FileCalls calls = system_file_calls();
    static int refused_links = 0;
    static bool refuses = false;
    refused_links = 0;
    refuses = false;
    calls.link_at = [](int from_folder, const char* from, int to_folder, const char* to, int flags) {
        if (!refuses || (flags & AT_EMPTY_PATH) == 0)
            return system_file_calls().link_at(from_folder, from, to_folder, to, flags);
        ++refused_links;
        errno = ENOENT;
        return -1;
    };
    Saving saving(settings_in(out.path()), calls);
    const bool links_descriptors = saving.saver().folder().naming() == TensorFolder::Naming::by_descriptor;
    refuses = true;
    const Sample sample = sample_of(0, 0, 7);
    CHECK(read_text(out.path() / "tensors" / saving.save(sample)) == file_of(sample));
    CHECK(refused_links == (links_descriptors ? 1 : 0));
    CHECK(saving.said.empty());
}

TEST_CASE("A thread that keeps folders open creates those that were removed, and opens each run only once") {
    const TempFolder out;
    FileCalls calls = system_file_calls();
    static int opened_folders = 0;
    calls.open_at = [](int folder, const char* name, int flags, mode_t mode) {
        if ((flags & O_PATH) != 0) ++opened_folders;
        return system_file_calls().open_at(folder, name, flags, mode);
    };
    Saving saving(settings_in(out.path()), calls);
    saving.saver().keep_folders_open(true);
    const fs::path tensors = out.path() / "tensors";
    REQUIRE_FALSE(saving.save(sample_of(0, 0, 1)).empty());
    opened_folders = 0;
    REQUIRE_FALSE(saving.save(sample_of(0, 1, 2)).empty());
    REQUIRE_FALSE(saving.save(sample_of(0, 1, 3)).empty());
    // The first attempt finds no folder.
    CHECK(opened_folders == 2);
    fs::remove_all(tensors / "run0000");
    const Sample sample = sample_of(0, 2, 4);
    CHECK(read_text(tensors / saving.save(sample)) == file_of(sample));
    fs::remove_all(tensors / "run0000");
    const Sample in_same_folder = sample_of(0, 2, 5);
    CHECK(read_text(tensors / saving.save(in_same_folder)) == file_of(in_same_folder));
    CHECK(saving.said.empty());
}

TEST_CASE("A folder that is removed before a file gets its name in it is created again") {
    const TempFolder out;
    static fs::path removed;
    removed = out.path() / "tensors" / "run0000";
    FileCalls calls = system_file_calls();
    calls.link_at = [](int from, const char* name, int to, const char* new_name, int flags) {
        const bool is_probe = std::string_view(new_name).starts_with(".probe");
        if (!is_probe) fs::remove_all(std::exchange(removed, fs::path()));
        return system_file_calls().link_at(from, name, to, new_name, flags);
    };
    Saving saving(settings_in(out.path()), calls);
    saving.saver().keep_folders_open(GENERATE(false, true));
    const Sample sample = sample_of(0, 0, 1);
    CHECK(read_text(out.path() / "tensors" / saving.save(sample)) == file_of(sample));
    CHECK(removed.empty());
    CHECK(saving.said.empty());
}

TEST_CASE("A file that was removed, replaced or written to is no longer linked to") {
    const TempFolder out;
    Saving saving(settings_in(out.path()));
    const fs::path tensors = out.path() / "tensors";
    const fs::path first = tensors / saving.save(sample_of(0, 0, 7));
    SECTION("removed") {
        fs::remove(first);
    }
    SECTION("replaced") {
        fs::remove(first);
        write_text(first, "somebody's");
    }
    SECTION("written to") {
        const int file = open(first.c_str(), O_WRONLY | O_CLOEXEC);
        REQUIRE(pwrite(file, "x", 1, 700) == 1);
        ::close(file);
        const timespec times[2] = {{1, 0}, {1, 0}};  // however coarse the file system's clock is
        REQUIRE(utimensat(AT_FDCWD, first.c_str(), times, 0) == 0);
    }
    const std::string second = saving.save(sample_of(0, 1, 7));
    CHECK(read_text(tensors / second) == file_of(sample_of(0, 1, 7)));
    CHECK(saving.saver().counts().linked == 0);
    const std::string third = saving.save(sample_of(0, 2, 7));
    CHECK(look(tensors / third).st_ino == look(tensors / second).st_ino);
}

TEST_CASE("An equal tensor found only at the end is still linked, and its own file is removed") {
    const TempFolder out;
    Saving saving(settings_in(out.path()));
    const std::string first = saving.save(sample_of(0, 0, 7));
    SavingJob job;
    const Sample second = sample_of(0, 1, 7);
    REQUIRE(
        with_description(second, [&](const TensorToSave& what) { return saving.saver().open(what, job); }));
    REQUIRE(saving.saver().begin(job, false, saving.hand) == TensorSaver::Begun::writes);
    const std::vector<std::byte> content = second.content();
    saving.saver().write(job, std::span(content).first(20), false);
    job.facts.hash = second.hash();
    saving.saver().write(job, std::span(content).subspan(20), true);
    saving.saver().finish(job, saving.hand);
    const fs::path tensors = out.path() / "tensors";
    CHECK(look(tensors / job.path()).st_ino == look(tensors / first).st_ino);
    CHECK(look(tensors / first).st_nlink == 2);
}

TEST_CASE("A tensor with missing or too many bytes leaves nothing behind") {
    const TempFolder out;
    Saving saving(settings_in(out.path()));
    const std::size_t given = GENERATE(std::size_t{0}, std::size_t{63}, std::size_t{65});
    SavingJob job;
    REQUIRE(with_description(sample_of(0, 0, 1),
                             [&](const TensorToSave& what) { return saving.saver().open(what, job); }));
    REQUIRE(saving.saver().begin(job, false, saving.hand) == TensorSaver::Begun::writes);
    const std::vector<std::byte> content(given);
    saving.saver().write(job, content, true);
    saving.saver().finish(job, saving.hand);
    CHECK(saving.left_out(LeftOut::incomplete) == 1);
    CHECK(tensors_in(out.path() / "tensors").empty());
    CHECK(read_index(saving.saver().index_path()).files.empty());
}

TEST_CASE("The file is the same, in whatever chunks its bytes come") {
    const TempFolder out;
    Saving saving(settings_in(out.path()));
    const Sample whole = sample_of(0, 0, 3, 3 * 1024 * 1024 + 4);
    const std::size_t step = GENERATE(std::size_t{700'001}, std::size_t{1} << 20U, std::size_t{1} << 30U);
    SavingJob job;
    REQUIRE(
        with_description(whole, [&](const TensorToSave& what) { return saving.saver().open(what, job); }));
    REQUIRE(saving.saver().begin(job, false, saving.hand) == TensorSaver::Begun::writes);
    const std::vector<std::byte> content = whole.content();
    for (std::size_t at = 0; at < content.size(); at += step) {
        const std::size_t bytes = std::min(step, content.size() - at);
        saving.saver().write(job, std::span(content).subspan(at, bytes), false);
    }
    saving.saver().write(job, {}, true);
    saving.saver().finish(job, saving.hand);
    CHECK(read_text(out.path() / "tensors" / job.path()) == file_of(whole));
}

TEST_CASE("Empty tensors are files too") {
    const TempFolder out;
    Saving saving(settings_in(out.path()));
    const Sample empty = sample_of(0, 0, 0, 0);
    CHECK(read_text(out.path() / "tensors" / saving.save(empty)) == file_of(empty));
}

TEST_CASE("Folders are 0700 and files 0600, whatever links and runs there are") {
    const TempFolder out;
    Saving saving(settings_in(out.path()));
    saving.save(sample_of(0, 0, 1));
    saving.save(sample_of(0, 1, 1));
    for (const auto& entry : fs::recursive_directory_iterator(out.path() / "tensors"))
        CHECK((look(entry.path()).st_mode & 07777U) == (entry.is_directory() ? 0700U : 0600U));
    CHECK((look(out.path() / "tensors").st_mode & 07777U) == 0700U);
}

TEST_CASE("A repeated name in a call gets a number, and portable names ignore the case of letters") {
    const TempFolder out;
    SavingSettings settings = settings_in(out.path());
    settings.portable_names = true;
    Saving saving(settings);
    Sample upper = sample_of(0, 0, 1);
    upper.label = "BUF0";
    const std::string stem = "run0000/call0000/before_launch_triton_poi_fused_0_";
    CHECK(saving.save(sample_of(0, 0, 1)) == stem + "buf0_cuda%3A0.pt");
    CHECK(saving.save(sample_of(0, 0, 2)) == stem + "buf0_cuda%3A0.2.pt");
    CHECK(saving.save(upper) == stem + "BUF0_cuda%3A0.3.pt");
    CHECK(saving.save(sample_of(0, 1, 1)) ==
          "run0000/call0001/before_launch_triton_poi_fused_0_buf0_cuda%3A0.pt");
}

TEST_CASE("In PyTorch's layout all files lie in one folder, and those of earlier processes stay") {
    const TempFolder out;
    SavingSettings settings = settings_in(out.path());
    settings.place.flat = (out.path() / "tmp" / "aoti_torch").string();
    const std::string stem = "before_launch_triton_poi_fused_0_buf0_cuda:0";
    fs::create_directories(settings.place.flat);
    write_text(settings.place.flat + "/" + stem + ".pt", "PyTorch's");
    Saving saving(settings);
    CHECK(saving.save(sample_of(0, 0, 1)) == stem + ".2.pt");
    CHECK(saving.save(sample_of(1, 4, 2)) == stem + ".3.pt");
    CHECK(saving.save(sample_of(2, 4, 2)) == stem + ".4.pt");
    CHECK(saving.saver().counts().linked == 1);
    CHECK(read_text(settings.place.flat + "/" + stem + ".pt") == "PyTorch's");
    CHECK(saving.saver().index_path() == (out.path() / "tensors/index.jsonl").string());
    const std::string text = read_text(saving.saver().index_path());
    CHECK(member(text.substr(0, text.find('\n')), "folder") == settings.place.flat);
}

TEST_CASE("A folder in use by another process is left alone") {
    const TempFolder out;
    Saving first(settings_in(out.path()));
    Saving second(settings_in(out.path()));
    Saving third(settings_in(out.path()));
    const std::string own = (out.path() / "tensors").string() + "-" + std::to_string(getpid());
    CHECK(second.saver().folder().path() == own);
    CHECK(third.saver().folder().path() == own + ".2");
    first.save(sample_of(0, 0, 1));
    second.save(sample_of(0, 0, 1));
    CHECK(tensors_in(out.path()).size() == 2);
}

TEST_CASE("A line of the index identifies the tensor and has its known facts") {
    const TempFolder out;
    Saving saving(settings_in(out.path()));
    Sample given = sample_of(3, 12, 9);
    given.kernel = std::string(300, 'k');
    SavingJob job;
    REQUIRE(
        with_description(given, [&](const TensorToSave& what) { return saving.saver().open(what, job); }));
    TensorStatistics statistics;
    statistics.requested = Requested::printed;
    statistics.count = 16;
    statistics.real.all.mean = 0.5;
    job.facts = {std::nullopt, statistics};
    REQUIRE(saving.saver().begin(job, true, saving.hand) == TensorSaver::Begun::writes);
    saving.saver().write(job, given.content(), true);
    saving.saver().finish(job, saving.hand);
    const std::string text = read_text(saving.saver().index_path());
    std::string line = text.substr(text.find('\n') + 1);
    line.pop_back();
    JsonLine parsed;
    REQUIRE(parsed.parse(line));
    CHECK(member(line, "kernel") == given.kernel);
    CHECK(member(line, "whole_name") == "before_launch_" + given.kernel + "_buf0_cuda:0");
    CHECK(parsed.root().member("statistics").member("mean").text() == "0.5");
    CHECK(parsed.root().member("statistics").member("count").text() == "16");
    CHECK_FALSE(parsed.root().member("hash"));
    CHECK(line.find(R"("side":"before","run":3,"call":12,"model":0,"seq":7,)") != std::string::npos);
    CHECK(line.find(R"("label":"buf0","position":2,"dtype":"float32","sizes":[16],"strides":[1],)"
                    R"("storage_offset":0,"storage_bytes":64,"device":"cuda:0",)") != std::string::npos);
}

}  // namespace aoti_dbg::test::tensor_saver_files_test

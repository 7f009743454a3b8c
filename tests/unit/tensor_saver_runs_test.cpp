// Room, names and counts when runs are removed: other programs' changes to the files first.
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <utility>

#include "tests/unit/saver_fixture.hpp"

namespace aoti_dbg::test::tensor_saver_runs_test {

namespace fs = std::filesystem;

namespace {

std::function<void()> g_before_link;

/// Saves the same content twice in each of the runs, 20 kB each.
std::size_t save_runs(Saving& saving, std::uint32_t from, std::uint32_t to,
                      const std::function<void(const std::string&)>& then) {
    std::size_t saved = 0;
    for (std::uint32_t run = from; run < to; ++run) {
        for (std::uint32_t call = 0; call < 2; ++call) {
            const std::string path = saving.save(sample_of(run, call, run, 20000));
            saved += path.empty() ? 0 : 1;
            if (!path.empty()) then(path);
        }
        saving.saver().end_run(run, false);
        saving.evict();
    }
    return saved;
}

SavingSettings small_window(const TempFolder& out) {
    SavingSettings settings = settings_in(out.path());
    settings.keep_last = 1;
    settings.max_bytes = 60000;
    return settings;
}

}  // namespace

TEST_CASE("Files that the user removed count as room again when their run is removed") {
    const TempFolder out;
    Saving saving(small_window(out));
    const std::size_t saved =
        save_runs(saving, 0, 20, [&](const std::string& path) { fs::remove(out.path() / "tensors" / path); });
    CHECK(saved == 40);
    CHECK(saving.said.empty());
}

TEST_CASE(
    "A file that the user linked to counts as room again when its run is removed, and stays the user's") {
    const TempFolder out;
    Saving saving(small_window(out));
    fs::create_directory(out.path() / "mine");
    std::size_t links = 0;
    const std::size_t saved = save_runs(saving, 0, 20, [&](const std::string& path) {
        fs::create_hard_link(out.path() / "tensors" / path, out.path() / "mine" / std::to_string(links++));
    });
    CHECK(saved == 40);
    CHECK(saving.said.empty());
    CHECK(read_text(out.path() / "mine/0") == file_of(sample_of(0, 0, 0, 20000)));
}

TEST_CASE(
    "If a run is removed while one of its files is being linked, the content is written and counted once") {
    const TempFolder out;
    FileCalls calls = system_file_calls();
    calls.link_at = [](int from_folder, const char* from, int to_folder, const char* to, int flags) {
        const std::function<void()> before = std::exchange(g_before_link, {});
        const bool is_link_to_saved = flags == 0;
        if (before && is_link_to_saved) before();
        return system_file_calls().link_at(from_folder, from, to_folder, to, flags);
    };
    SavingSettings settings = settings_in(out.path());
    settings.only_findings = true;
    Saving saving(settings, calls);
    REQUIRE_FALSE(saving.save(sample_of(0, 0, 7)).empty());
    TensorSaver::Hand other;
    g_before_link = [&] {
        saving.saver().end_run(0, false);
        while (saving.saver().evict_one(other)) {
        }
    };
    const std::string path = saving.save(sample_of(1, 0, 7));
    CHECK(read_text(out.path() / "tensors" / path) == file_of(sample_of(1, 0, 7)));
    const SavedCounts& counts = saving.saver().counts();
    CHECK(counts.files_on_disk() == 1);
    CHECK(counts.linked_on_disk() == 0);
    CHECK(counts.linked_bytes_on_disk() == 0);
    CHECK(counts.all_removed() == 1);
    CHECK(tensors_in(out.path() / "tensors") == std::set<std::string>{path});
}

TEST_CASE(
    "With findings alone a run that does not fit does not end saving, and findings that fill the cap do") {
    const TempFolder out;
    SavingSettings settings = settings_in(out.path());
    settings.only_findings = true;
    settings.max_bytes = 60000;
    Saving saving(settings);
    for (std::uint32_t call = 0; call < 10; ++call)
        (void)saving.save(sample_of(0, call, call, 20000));
    CHECK_FALSE(saving.saver().is_stopped());
    REQUIRE(saving.said.size() == 1);
    CHECK(saving.said[0].find("The rest of run 0 is not saved") != std::string::npos);
    saving.saver().end_run(0, false);
    saving.evict();
    for (const std::uint32_t run : {1U, 2U}) {
        CHECK_FALSE(saving.save(sample_of(run, 0, run, 20000)).empty());
        saving.saver().end_run(run, true);
        saving.evict();
    }
    CHECK(saving.save(sample_of(3, 0, 3, 20000)).empty());
    CHECK(saving.saver().is_stopped());
    CHECK(tensors_in(out.path() / "tensors").size() == 2);
}

TEST_CASE("The index has the size of a tensor's storage, and the part of it in the file") {
    const TempFolder out;
    Saving saving(settings_in(out.path()));
    const Sample sample = sample_of(0, 0, 1);
    SavingJob job;
    REQUIRE(with_description(sample, [&](TensorToSave what) {
        what.storage_bytes = 4096;
        return saving.saver().open(what, job);
    }));
    REQUIRE(saving.saver().begin(job, true, saving.hand) == TensorSaver::Begun::writes);
    saving.saver().write(job, sample.content(), true);
    saving.saver().finish(job, saving.hand);
    const std::string line = read_index(saving.saver().index_path()).files.at(job.path());
    CHECK(line.find(R"("storage_bytes":4096,"saved_storage_bytes":64,)") != std::string::npos);
}

}  // namespace aoti_dbg::test::tensor_saver_runs_test

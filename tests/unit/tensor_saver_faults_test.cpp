// Every system call of saving fails once, at every place. Existing files must be whole, the index must name
// nothing else, a message must say what happened, and nothing may stay open.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/unit/failing_calls.hpp"
#include "tests/unit/saver_fixture.hpp"

namespace aoti_dbg::test::tensor_saver_faults_test {

namespace fs = std::filesystem;

namespace {

// A disk takes six times as long as memory for the thousands of folders here.
const bool g_in_memory = access("/dev/shm", W_OK) == 0 && setenv("TMPDIR", "/dev/shm", 0) == 0;

struct Scene {
    const char* what;
    Fault fault;
    std::uint32_t keep_last = 0;
    bool flat = false;
    bool compacts = false;  // the index, whenever a run is removed
};

Scene scene(int number) {
    Fault plain;
    Fault hidden;
    hidden.no_unnamed_files = true;
    Fault poor = hidden;
    poor.no_exclusive_rename = true;
    Fault poorest = poor;
    poorest.no_links = true;
    Fault halves;
    halves.writes_by_halves = true;
    const Scene scenes[] = {
        {"unnamed files", plain, 0, false},           {"hidden files", hidden, 0, false},
        {"no exclusive rename", poor, 0, false},      {"no links", poorest, 0, false},
        {"a window of runs", plain, 1, false},        {"a window without links", poorest, 1, false},
        {"PyTorch's layout", plain, 1, true},         {"writes by halves", halves, 0, false},
        {"a compacted index", plain, 1, false, true},
    };
    return scenes[number];
}
constexpr int kScenes = 9;
constexpr std::size_t kBytes = 1024;

std::uint64_t times(const std::string& text, const std::string& part) {
    std::uint64_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

/// The files of all contents that play() saves.
const std::set<std::string>& whole_files() {
    static const std::set<std::string> all = [] {
        std::set<std::string> files;
        for (std::uint64_t seed = 0; seed < 23; ++seed) {
            Sample sample;
            sample.seed = seed;
            sample.bytes = kBytes;
            files.insert(file_of(sample));
        }
        return files;
    }();
    return all;
}

/// Checks that existing files are whole, and that the index agrees with them as far as the fault allows.
void check_files(const fs::path& files, const ReadIndex& index, bool is_known_to_stay) {
    const std::set<std::string> existing = tensors_in(files);
    for (const std::string& name : existing) {
        CAPTURE(name);
        CHECK(whole_files().count(read_text(files / name)) == 1);
    }
    for (const auto& [path, line] : index.files) {
        CAPTURE(line);
        CHECK(existing.count(path) == 1);
    }
    if ((g_fault.which & kUnlink) == 0 && !is_known_to_stay) CHECK(names_of(index) == existing);
    const bool may_be_torn = (g_fault.which & kCut) != 0 || ((g_fault.which & kAppend) != 0 && g_fault.stays);
    if (!may_be_torn) CHECK(index.broken == 0);
    const bool may_lack_end = (g_fault.which & (kAppend | kOpen | kLook)) != 0;
    if (!may_lack_end) CHECK_FALSE(index.end.empty());
    const fs::path hidden = files / TensorFolder::kHidden;
    if ((g_fault.which & kUnlink) == 0 && fs::exists(hidden)) CHECK(fs::is_empty(hidden));
}

/// Saves three runs of three tensors, the second of each equal to the first, and checks what must hold
/// afterwards. Returns the number of the chosen calls.
std::uint64_t play(const Scene& scene, unsigned which, std::uint64_t at, int error, bool stays) {
    const TempFolder out;
    CAPTURE(g_in_memory);
    SavingSettings settings = settings_in(out.path());
    settings.keep_last = scene.keep_last;
    if (scene.compacts) settings.least_dead = 1;
    if (scene.flat) settings.place.flat = (out.path() / "flat").string();
    const int before = open_descriptors();
    g_fault = scene.fault;
    g_fault.which = which;
    g_fault.at = at;
    g_fault.error = error;
    g_fault.stays = stays;
    CAPTURE(scene.what, which, at, error, stays);

    std::set<std::string> saved;
    std::uint64_t opened = 0;
    fs::path files;
    fs::path index_path;
    bool is_known_to_stay = false;  // files of removed runs
    {
        Saving saving(settings, failing_calls());
        if (!saving.made.ok()) {
            CHECK(g_fault.failed != 0);
            CHECK_FALSE(saving.made.status().message().empty());
            CHECK(tensors_in(out.path()).empty());
            return g_fault.seen;
        }
        files = saving.saver().folder().path();
        index_path = saving.saver().index_path();
        for (std::uint32_t run = 0; run < 3; ++run) {
            for (std::uint32_t call = 0; call < 3; ++call) {
                ++opened;
                const std::uint64_t seed = call == 1 ? run * 10 : run * 10 + call;
                (void)saving.save(sample_of(run, call, seed, kBytes));
            }
            saving.saver().end_run(run, false);
            saving.evict();
        }
        saving.saver().end("complete");

        const SavedCounts& counts = saving.saver().counts();
        std::uint64_t left_out = 0;
        for (const auto& number : counts.left_out)
            left_out += number.load();
        CHECK(counts.files + times(read_text(index_path), "\"same_as\":") + left_out == opened);
        CHECK((left_out == 0 || !saving.said.empty()));
        CHECK(saving.said.size() <= 3);
        for (const std::string& line : saving.said) {
            CHECK(line.find(out.path().string()) != std::string::npos);
            is_known_to_stay = is_known_to_stay || line.find("Remove them by hand") != std::string::npos;
        }
        if (g_fault.failed == 0) CHECK(saving.said.empty());
    }
    CHECK(open_descriptors() == before);

    check_files(files, read_index(index_path), is_known_to_stay);
    return g_fault.seen;
}

}  // namespace

TEST_CASE("Without a fault everything is saved, on any file system") {
    for (int number = 0; number < kScenes; ++number)
        (void)play(scene(number), kAllCalls, 0, 0, false);
}

TEST_CASE("Whichever call fails, existing files are whole and listed") {
    const int number = GENERATE(range(0, kScenes));
    const int error = GENERATE(ENOSPC, EIO);
    for (std::uint64_t at = 1;; ++at)
        if (play(scene(number), kAllCalls & ~unsigned{kUnlink}, at, error, false) < at) break;
}

TEST_CASE("If everything fails from any call on, existing files are whole and listed") {
    const int number = GENERATE(range(0, kScenes));
    const int error = ENOSPC;
    for (std::uint64_t at = 1;; ++at)
        if (play(scene(number), kAllCalls & ~unsigned{kUnlink}, at, error, true) < at) break;
}

TEST_CASE("If one kind of call fails permanently from some time on, existing files are whole") {
    const int number = GENERATE(range(0, kScenes));
    const unsigned which =
        GENERATE(unsigned{kOpen}, unsigned{kMakeFolder}, unsigned{kWrite}, unsigned{kAppend},
                 unsigned{kAppend | kCut}, unsigned{kClose}, unsigned{kLink}, unsigned{kRename},
                 unsigned{kUnlink}, unsigned{kLook}, unsigned{kInspectDisk});
    for (const int error : {EPERM, EMLINK}) {
        for (std::uint64_t at = 1;; ++at)
            if (play(scene(number), which, at, error, true) < at) break;
    }
}

TEST_CASE("An interrupted write continues") {
    for (std::uint64_t at = 1;; ++at) {
        const std::uint64_t seen = play(scene(0), kWrite | kAppend, at, EINTR, false);
        if (seen < at) break;
    }
}

TEST_CASE("If a file has too many links, the content is written again and linked to from then on") {
    const TempFolder out;
    g_fault = {};
    g_fault.which = kLink;
    Saving saving(settings_in(out.path()), failing_calls());
    Sample sample;
    REQUIRE_FALSE(saving.save(sample).empty());
    g_fault.error = EMLINK;
    g_fault.at = g_fault.seen + 1;
    sample.call = 1;
    const fs::path tensors = out.path() / "tensors";
    const std::string copy = saving.save(sample);
    CHECK(read_text(tensors / copy) == file_of(sample));
    CHECK(saving.saver().counts().linked == 0);
    sample.call = 2;
    const std::string link = saving.save(sample);
    CHECK(fs::equivalent(tensors / link, tensors / copy));
    CHECK(saving.said.empty());
    g_fault = {};
}

TEST_CASE("Without links an equal tensor has a name in the index, and costs nothing") {
    const TempFolder out;
    g_fault = {};
    g_fault.no_links = g_fault.no_unnamed_files = true;
    Saving saving(settings_in(out.path()), failing_calls());
    Sample sample;
    const std::string first = saving.save(sample);
    const std::uint64_t bytes = saving.saver().counts().bytes;
    sample.call = 1;
    CHECK(saving.save(sample).empty());
    sample.call = 2;
    CHECK(saving.save(sample).empty());
    CHECK(saving.saver().counts().bytes == bytes);
    CHECK(saving.saver().counts().linked == 2);
    const std::string text = read_text(saving.saver().index_path());
    CHECK(text.find("\"same_as\":\"" + first + "\"") != std::string::npos);
    CHECK(tensors_in(out.path() / "tensors").size() == 1);
    g_fault = {};
}

}  // namespace aoti_dbg::test::tensor_saver_faults_test

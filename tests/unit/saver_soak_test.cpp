// A server that saves the tensors of its last runs for a long time. A child does it and is stopped at random
// moments for inspection, or killed. The files on disk at such a moment are those that a crash would leave.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "shim/save/tensor_writers.hpp"
#include "tests/unit/saver_fixture.hpp"

namespace aoti_dbg::test::saver_soak_test {

namespace fs = std::filesystem;

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kKnowsForks = false;  // it starts no thread after a fork
#else
constexpr bool kKnowsForks = true;
#endif

constexpr std::uint32_t kLong = 60000;
constexpr std::uint32_t kCalls = 12;
constexpr std::uint32_t kKept = 3;
constexpr std::uint64_t kCap = 2'000'000;

/// Two weights that all runs share, and tensors of the run's own. Each of these comes twice in a row, so that
/// the second waits for the first.
Sample tensor_of(std::uint32_t run, std::uint32_t call) {
    Sample sample = sample_of(run, call, call < 2 ? call : 1000 * std::uint64_t{run} + call / 2, 1000);
    sample.label = call < 2 ? "weight" : "buf0";
    return sample;
}

struct Lent {
    std::vector<std::byte> content;
};

/// Saves runs in sequence, as fast as it can. Exits with 0.
[[noreturn]] void serve(const SavingSettings& settings, std::uint32_t runs) {
    const Result<TensorWriters*> made = TensorWriters::start(settings, 3);
    if (!made.ok()) ::_exit(1);
    TensorWriters& writers = *made.value();
    for (std::uint32_t run = 0; run < runs; ++run) {
        for (std::uint32_t call = 0; call < kCalls; ++call) {
            const Sample sample = tensor_of(run, call);
            SavingJob* const job =
                with_description(sample, [&](const TensorToSave& what) { return writers.open(what, kLong); });
            if (job == nullptr) ::_exit(2);
            auto* const lent = new Lent{sample.content()};
            const TensorChunk chunk{lent->content, [](void* self) { delete static_cast<Lent*>(self); }, lent};
            writers.hand_over(job, {sample.hash(), std::nullopt}, 0, chunk);
        }
        writers.end_of_run(run, run + 1 == runs);
        if (run % 500 == 499 && !writers.drain(kLong)) ::_exit(3);
    }
    ::_exit(writers.finish(kLong) ? 0 : 4);
}

struct Seen {
    std::map<std::uint32_t, std::uint32_t> files;  // by run
    std::size_t folders = 0;                       // of runs
    std::size_t empty_folders = 0;
    std::uint64_t bytes = 0;  // each file once, and the index
    std::uint64_t index_bytes = 0;
    ReadIndex index;
};

Seen look(const fs::path& tensors) {
    Seen seen;
    std::set<ino_t> known;
    for (const auto& entry : fs::recursive_directory_iterator(tensors)) {
        struct stat found {};
        REQUIRE(lstat(entry.path().c_str(), &found) == 0);
        const std::string path = fs::relative(entry.path(), tensors).string();
        if (entry.is_directory()) {
            seen.folders += path.find('/') == std::string::npos ? 1 : 0;
            seen.empty_folders += fs::is_empty(entry.path()) ? 1 : 0;
            continue;
        }
        if (known.insert(found.st_ino).second) seen.bytes += static_cast<std::uint64_t>(found.st_size);
        if (path == "index.jsonl") seen.index_bytes = static_cast<std::uint64_t>(found.st_size);
        std::uint32_t run = 0;
        if (std::sscanf(path.c_str(), "run%u/", &run) == 1) ++seen.files[run];
    }
    seen.index = read_index(tensors / "index.jsonl");
    return seen;
}

std::uint32_t newest_run(const fs::path& tensors) {
    std::uint32_t newest = 0;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(tensors, none)) {
        std::uint32_t run = 0;
        if (std::sscanf(entry.path().filename().c_str(), "run%u", &run) == 1) newest = std::max(newest, run);
    }
    return newest;
}

/// The longest sequence of consecutive whole runs. Newer ones may be unfinished.
std::size_t whole_in_a_row(const Seen& seen) {
    std::size_t longest = 0;
    std::size_t count = 0;
    std::uint32_t last = 0;
    for (const auto& [run, files] : seen.files) {
        count = files != kCalls ? 0 : run == last + 1 ? count + 1 : 1;
        last = run;
        longest = std::max(longest, count);
    }
    return longest;
}

/// What holds at every moment. `were_whole`: enough runs have been whole before.
void check(const Seen& seen, const fs::path& tensors, bool were_whole) {
    std::string files;
    for (const auto& [run, count] : seen.files)
        files += std::to_string(run) + ":" + std::to_string(count) + " ";
    CAPTURE(files);
    if (were_whole) CHECK(whole_in_a_row(seen) >= kKept);
    CHECK(seen.bytes <= kCap);
    CHECK(seen.index.broken == 0);
    std::uint64_t live = 0;
    for (const auto& [path, line] : seen.index.files) {
        live += line.size();
        CHECK(fs::exists(tensors / path));
    }
    CHECK(seen.index_bytes <= 2 * live + 2 * TensorIndex::kLeastDead);
}

void check_contents(const Seen& seen, const fs::path& tensors) {
    for (const auto& [path, line] : seen.index.files) {
        CAPTURE(path);
        std::uint32_t run = 0;
        std::uint32_t call = 0;
        REQUIRE(std::sscanf(path.c_str(), "run%u/call%u/", &run, &call) == 2);
        CHECK(read_text(tensors / path) == file_of(tensor_of(run, call)));
        struct stat found {};
        REQUIRE(lstat((tensors / path).c_str(), &found) == 0);
        CHECK((found.st_mode & 07777U) == 0600U);
    }
}

SavingSettings server_in(const fs::path& out) {
    SavingSettings settings = settings_in(out);
    settings.keep_last = kKept;
    settings.max_bytes = kCap;
    return settings;
}

}  // namespace

TEST_CASE("At every moment of a long service the last runs are whole, and everything stays small") {
    if (!kKnowsForks) return;
    constexpr std::uint32_t kRuns = 2000;
    const TempFolder out;
    const fs::path tensors = out.path() / "tensors";
    const pid_t child = fork();
    if (child == 0) serve(server_in(out.path()), kRuns);
    Random random;
    bool were_whole = false;
    std::size_t moments = 0;
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        usleep(static_cast<useconds_t>(random.below(8000)));
        kill(child, SIGSTOP);
        if (waitpid(child, &status, WUNTRACED) == child && !WIFSTOPPED(status)) break;
        if (fs::exists(tensors / "index.jsonl")) {
            const Seen seen = look(tensors);
            check(seen, tensors, were_whole);
            were_whole = were_whole || whole_in_a_row(seen) >= kKept;
            ++moments;
        }
        kill(child, SIGCONT);
    }
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(were_whole);
    CHECK(moments > 10);
    const Seen seen = look(tensors);
    check(seen, tensors, true);
    check_contents(seen, tensors);
    CHECK(seen.index.end == "complete");
    CHECK(seen.files == std::map<std::uint32_t, std::uint32_t>{
                            {kRuns - 3, kCalls}, {kRuns - 2, kCalls}, {kRuns - 1, kCalls}});
    CHECK(seen.folders == kKept);
    CHECK(seen.empty_folders == 0);
    CHECK_FALSE(fs::exists(tensors / TensorIndex::kNewName));
}

TEST_CASE("A process that is killed at any moment leaves its last runs whole, with an index of them") {
    if (!kKnowsForks) return;
    Random random;
    for (int i = 0; i < 20; ++i) {
        const TempFolder out;
        const fs::path tensors = out.path() / "tensors";
        const pid_t child = fork();
        if (child == 0) serve(server_in(out.path()), 1'000'000);
        for (int tries = 0; tries < 100000 && newest_run(tensors) < 100; ++tries)
            usleep(1000);
        usleep(static_cast<useconds_t>(random.below(50000)));
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        REQUIRE(WIFSIGNALED(status));
        const Seen seen = look(tensors);
        check(seen, tensors, true);
        check_contents(seen, tensors);
        CHECK(seen.index.end.empty());
    }
}

TEST_CASE("Runs without a finding leave room for the one that has one, however many there were") {
    if (!kKnowsForks) return;
    constexpr std::uint32_t kRuns = 2000;
    const TempFolder out;
    const fs::path tensors = out.path() / "tensors";
    SavingSettings settings = settings_in(out.path());
    settings.only_findings = true;
    settings.max_bytes = 200'000;
    const pid_t child = fork();
    if (child == 0) serve(settings, kRuns);
    int status = 0;
    waitpid(child, &status, 0);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    const Seen seen = look(tensors);
    CHECK(seen.files == std::map<std::uint32_t, std::uint32_t>{{kRuns - 1, kCalls}});
    CHECK(seen.folders == 1);
    CHECK(seen.index.end == "complete");
    check_contents(seen, tensors);
}

namespace {

/// Two tensors. The first has two chunks, and the second comes while a thread has the first chunk.
struct Two {
    TensorWriters* writers = nullptr;
    SavingJob* first = nullptr;
    SavingJob* second = nullptr;
    std::vector<std::byte> bytes = sample_of(0, 0, 1, 4096).content();
    std::vector<char> order;

    TensorChunk chunk(std::size_t from, std::size_t count, void (*release)(void*)) {
        return {std::span(bytes).subspan(from, count), release, this};
    }
};

}  // namespace

TEST_CASE("A tensor whose next bytes are ready continues before later tensors") {
    const TempFolder out;
    const Result<TensorWriters*> made = TensorWriters::start(settings_in(out.path()), 1);
    REQUIRE(made.ok());
    static Two two;
    two.writers = made.value();
    const auto open = [](std::uint32_t call) {
        return with_description(sample_of(0, call, 1, 4096),
                                [](const TensorToSave& what) { return two.writers->open(what, kLong); });
    };
    two.first = open(0);
    two.second = open(1);
    REQUIRE((two.first != nullptr && two.second != nullptr));
    // The thread is inside the first tensor when it returns the first chunk.
    two.writers->append(two.first, two.chunk(0, 1000, [](void*) {
        two.writers->hand_over(two.second, {}, 0,
                               two.chunk(0, 4096, [](void*) { two.order.push_back('2'); }));
        two.writers->append(two.first, two.chunk(1000, 3096, [](void*) { two.order.push_back('1'); }));
        two.writers->close(two.first, {});
    }));
    REQUIRE(two.writers->drain(kLong));
    while (two.writers->progress().files != 2)
        usleep(1000);
    CHECK(two.writers->finish(kLong));
    CHECK(two.order == std::vector<char>{'1', '2'});
}

}  // namespace aoti_dbg::test::saver_soak_test

// The writer threads: killed, forked, abandoned and late ones first, then their purpose.
#include "shim/save/tensor_writers.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

#include "tests/support/in_child.hpp"
#include "tests/unit/saver_fixture.hpp"

namespace aoti_dbg::test::tensor_writers_test {

namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kLong = 60000;
constexpr std::size_t kBytes = 4096;

#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer starts no thread after a fork, and assumes that all threads share descriptors.
constexpr bool kKnowsForksAndDescriptors = false;
#else
constexpr bool kKnowsForksAndDescriptors = true;
#endif

// Their threads may be inside until exit, so none is ever freed.
TensorWriters& writers_in(const SavingSettings& settings, std::uint32_t threads = 3) {
    static auto& all = *new std::vector<TensorWriters*>;
    const Result<TensorWriters*> made = TensorWriters::start(settings, threads);
    if (!made.ok()) FAIL(made.status().message());
    all.push_back(made.value());
    return *made.value();
}

/// Memory that counts how often it was returned.
struct Lent {
    std::vector<std::byte> content;
    std::atomic<int> releases{0};

    TensorChunk chunk(std::size_t from, std::size_t bytes) {
        return {std::span(content).subspan(from, bytes),
                [](void* self) { static_cast<Lent*>(self)->releases.fetch_add(1); }, this};
    }
    TensorChunk whole() { return chunk(0, content.size()); }
};

std::unique_ptr<Lent> lend(const Sample& sample) {
    auto lent = std::make_unique<Lent>();
    lent->content = sample.content();
    return lent;
}

SavingJob* open(TensorWriters& writers, const Sample& sample) {
    return with_description(sample, [&](const TensorToSave& what) { return writers.open(what); });
}

/// Returns false if the tensor was not accepted.
bool save(TensorWriters& writers, const Sample& sample, Lent& lent) {
    SavingJob* const job = open(writers, sample);
    if (job == nullptr) return false;
    writers.append(job, lent.whole());
    writers.close(job, {sample.hash(), std::nullopt});
    return true;
}

/// The same, with memory that is kept in `lent`.
bool save(TensorWriters& writers, const Sample& sample, std::vector<std::unique_ptr<Lent>>& lent) {
    lent.push_back(lend(sample));
    return save(writers, sample, *lent.back());
}

/// For children: saves until it is killed, with a seed for each call that determines the file.
[[noreturn]] void save_for_ever(const SavingSettings& settings, std::uint32_t threads) {
    const Result<TensorWriters*> writers = TensorWriters::start(settings, threads);
    if (!writers.ok()) ::_exit(1);
    for (std::uint32_t run = 0;; ++run) {
        for (std::uint32_t call = 0; call < 20; ++call) {
            // Every third has the content of call 0.
            const Sample sample = sample_of(run, call, call % 3 == 0 ? run * 1000 : run * 1000 + call,
                                            40000 + call % 3 * 40000);
            Lent* const lent = lend(sample).release();
            if (!save(*writers.value(), sample, *lent)) ::_exit(2);
        }
        if (!writers.value()->drain(kLong)) ::_exit(3);
    }
}

std::size_t size_of(const fs::path& path) {
    std::error_code none;
    const std::uintmax_t size = fs::file_size(path, none);
    return none ? 0 : static_cast<std::size_t>(size);
}

std::string expected_of(const std::string& path) {
    std::uint32_t run = 0;
    std::uint32_t call = 0;
    if (std::sscanf(path.c_str(), "run%u/call%u/", &run, &call) != 2) return "no such name";
    return file_of(
        sample_of(run, call, call % 3 == 0 ? run * 1000 : run * 1000 + call, 40000 + call % 3 * 40000));
}

}  // namespace

TEST_CASE("A process that is killed at any moment leaves whole files, and an index that names only those") {
    Random random;
    std::size_t files = 0;
    for (int i = 0; i < 100; ++i) {
        const TempFolder out;
        const pid_t child = fork();
        if (child == 0) save_for_ever(settings_in(out.path()), 2);
        // At some point in its first or second run.
        const std::size_t some = random.below(15000);
        for (int tries = 0; tries < 100000 && size_of(out.path() / "tensors/index.jsonl") < some; ++tries)
            usleep(200);
        usleep(static_cast<useconds_t>(random.below(2000)));
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        REQUIRE(WIFSIGNALED(status));
        const fs::path tensors = out.path() / "tensors";
        const std::set<std::string> files_now = tensors_in(tensors);
        const ReadIndex index = read_index(tensors / "index.jsonl");
        CHECK(index.end.empty());
        CHECK(index.broken == 0);
        for (const std::string& name : names_of(index)) {
            CAPTURE(name);
            CHECK(files_now.count(name) == 1);
        }
        for (const std::string& name : files_now) {
            CAPTURE(name);
            CHECK(read_text(tensors / name) == expected_of(name));
        }
        files += files_now.size();
        // Finished but unlisted files are at most those that the threads were working on.
        CHECK(files_now.size() <= index.files.size() + 2);
    }
    CHECK(files > 100);
}

TEST_CASE("A forked child inherits no thread and no descriptor, and has a folder of its own") {
    if (!kKnowsForksAndDescriptors) return;
    const TempFolder out;
    TensorWriters& writers = writers_in(settings_in(out.path()));
    const Sample sample = sample_of(0, 0, 1, 1 << 20U);
    const std::unique_ptr<Lent> lent = lend(sample);
    SavingJob* const job = open(writers, sample);
    REQUIRE(job != nullptr);
    writers.append(job, lent->chunk(0, 1000));  // its file is open from here on
    // A fork while a writer thread allocates is not tested here: AddressSanitizer does not survive it.
    while (writers.progress().bytes_left != 0 || !other_threads_sleep())
        usleep(100);
    const int before = open_descriptors();
    const int status = in_child([&] {
        if (open_descriptors() != before) ::_exit(1);
        const Result<TensorWriters*> own = TensorWriters::start(settings_in(out.path()), 2);
        if (!own.ok()) ::_exit(2);
        const Sample other = sample_of(5, 0, 2, kBytes);
        Lent* const memory = lend(other).release();
        if (!save(*own.value(), other, *memory) || !own.value()->finish(kLong)) ::_exit(3);
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    writers.append(job, lent->chunk(1000, lent->content.size() - 1000));
    writers.close(job, {});
    CHECK(writers.finish(kLong));
    CHECK(tensors_in(out.path() / "tensors").size() == 1);
    CHECK(tensors_in(out.path()).size() == 2);
}

TEST_CASE("The program sees no descriptor of ours, may close all unknown ones, and loses nothing") {
    if (!kKnowsForksAndDescriptors) return;
    const TempFolder out;
    // A writer thread of an earlier test may still free memory, and AddressSanitizer does not survive a fork
    // then.
    while (!other_threads_sleep())
        usleep(100);
    const int status = in_child([&out] {
        TensorWriters& writers = writers_in(settings_in(out.path()), 2);
        const Sample sample = sample_of(0, 0, 1, 8 << 20U);
        const std::unique_ptr<Lent> lent = lend(sample);
        SavingJob* const job = open(writers, sample);
        if (job == nullptr) ::_exit(1);
        writers.append(job, lent->chunk(0, 4 << 20U));
        while (writers.progress().bytes_left != 0)
            usleep(100);
        if (!writers.has_own_descriptors()) ::_exit(0);  // the kernel does not support it
        for (int number = 3; number < 100; ++number)
            ::close(number);
        // The program's next files get the numbers that ours would have had.
        const int own = ::open((out.path() / "own").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        writers.append(job, lent->chunk(4 << 20U, 4 << 20U));
        writers.close(job, {});
        if (!writers.finish(kLong)) ::_exit(2);
        char byte = 0;
        if (pread(own, &byte, 1, 0) != 0) ::_exit(3);
        const std::set<std::string> files_now = tensors_in(out.path() / "tensors");
        if (files_now.size() != 1) ::_exit(4);
        if (read_text(out.path() / "tensors" / *files_now.begin()) != file_of(sample)) ::_exit(5);
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("Abandoned, saving frees all memory at once, leaves nothing half written, and says so") {
    const TempFolder out;
    TensorWriters& writers = writers_in(settings_in(out.path()), 1);
    std::vector<std::unique_ptr<Lent>> lent;
    for (std::uint32_t call = 0; call < 50; ++call) {
        REQUIRE(save(writers, sample_of(0, call, call, 1 << 20U), lent));
    }
    SavingJob* const never_closed = open(writers, sample_of(1, 0, 99, kBytes));
    REQUIRE(never_closed != nullptr);
    Lent part;
    part.content.resize(100);
    writers.append(never_closed, part.whole());
    writers.abandon();
    writers.finish(kLong);
    for (const std::unique_ptr<Lent>& memory : lent)
        CHECK(memory->releases == 1);
    CHECK(part.releases == 1);
    CHECK(open(writers, sample_of(1, 1, 98, kBytes)) == nullptr);
    const ReadIndex index = read_index(out.path() / "tensors/index.jsonl");
    CHECK(index.end == "abandoned");
    CHECK(names_of(index) == tensors_in(out.path() / "tensors"));
    // Too late, and harmless.
    Lent late;
    late.content.resize(10);
    writers.append(never_closed, late.whole());
    writers.close(never_closed, {});
    CHECK(late.releases == 1);
    CHECK(writers.progress().bytes_left == 0);
}

TEST_CASE("Unwritten tensors are skipped and counted at the deadline, and existing files are whole") {
    const TempFolder out;
    TensorWriters& writers = writers_in(settings_in(out.path()), 1);
    std::vector<std::unique_ptr<Lent>> lent;
    for (std::uint32_t call = 0; call < 30; ++call) {
        REQUIRE(save(writers, sample_of(0, call, call, 4 << 20U), lent));
    }
    const bool all = writers.finish(0);
    const ReadIndex index = read_index(out.path() / "tensors/index.jsonl");
    CHECK(index.end == (all ? "complete" : "late"));
    CHECK(names_of(index) == tensors_in(out.path() / "tensors"));
    CHECK(index.files.size() + writers.progress().left_out == 30);
    for (const std::unique_ptr<Lent>& memory : lent)
        CHECK(memory->releases == 1);
}

TEST_CASE("A job whose bytes do not arrive is given up, and does not delay others") {
    const TempFolder out;
    TensorWriters& writers = writers_in(settings_in(out.path()), 1);
    std::vector<SavingJob*> unfinished;
    std::vector<std::unique_ptr<Lent>> lent;
    for (std::uint32_t call = 0; call < 10; ++call) {
        lent.push_back(lend(sample_of(0, call, call, kBytes)));
        unfinished.push_back(open(writers, sample_of(0, call, call, kBytes)));
        REQUIRE(unfinished.back() != nullptr);
        writers.append(unfinished.back(), lent.back()->chunk(0, 100));
    }
    REQUIRE(save(writers, sample_of(1, 0, 99, kBytes), lent));
    CHECK(writers.drain(kLong));
    CHECK(tensors_in(out.path() / "tensors").size() == 1);
    for (SavingJob* job : unfinished)
        writers.give_up(job);
    CHECK(writers.finish(kLong));
    CHECK(writers.progress().left_out == 10);
    CHECK(tensors_in(out.path() / "tensors").size() == 1);
    CHECK(read_index(out.path() / "tensors/index.jsonl").end == "complete");
}

TEST_CASE("When saving stops, nothing more is requested, and memory is still returned") {
    const TempFolder out;
    SavingSettings settings = settings_in(out.path());
    settings.max_files = 2;
    TensorWriters& writers = writers_in(settings, 2);
    std::vector<std::unique_ptr<Lent>> lent;
    std::uint32_t call = 0;
    for (; call < 1000 && !writers.is_stopped(); ++call) {
        lent.push_back(lend(sample_of(0, call, call, kBytes)));
        if (!save(writers, sample_of(0, call, call, kBytes), *lent.back())) lent.pop_back();
    }
    REQUIRE(writers.drain(kLong));
    CHECK(writers.is_stopped());
    CHECK(open(writers, sample_of(1, 0, 1, kBytes)) == nullptr);
    CHECK(writers.finish(kLong));
    for (const std::unique_ptr<Lent>& memory : lent)
        CHECK(memory->releases == 1);
    CHECK(tensors_in(out.path() / "tensors").size() == 2);
    CHECK(read_index(out.path() / "tensors/index.jsonl").end == "stopped");
}

TEST_CASE("The same content many times at once is written once") {
    const TempFolder out;
    TensorWriters& writers = writers_in(settings_in(out.path()), 4);
    std::vector<std::unique_ptr<Lent>> lent;
    for (std::uint32_t call = 0; call < 200; ++call) {
        REQUIRE(save(writers, sample_of(0, call, call % 2, 100000), lent));
    }
    CHECK(writers.finish(kLong));
    CHECK(writers.progress().files == 200);
    CHECK(writers.progress().linked == 198);
    for (const std::string& name : tensors_in(out.path() / "tensors"))
        CHECK(fs::hard_link_count(out.path() / "tensors" / name) == 100);
}

namespace {

constexpr std::uint32_t kThreads = 8;
constexpr std::uint32_t kCalls = 40;

/// Saves from all threads at once. Returns the number of failures.
int save_by_threads(const SavingSettings& settings) {
    TensorWriters& writers = writers_in(settings, 3);
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    std::vector<std::vector<std::unique_ptr<Lent>>> lent(kThreads);
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
            for (std::uint32_t call = 0; call < kCalls; ++call) {
                // The same name twice in a call.
                const Sample sample = sample_of(thread, call / 2, thread * 1000 + call, 5000);
                lent[thread].push_back(lend(sample));
                Lent& memory = *lent[thread].back();
                SavingJob* const job = open(writers, sample);
                if (job == nullptr) {
                    ++failures;
                    continue;
                }
                writers.append(job, memory.chunk(0, 3000));
                writers.append(job, memory.chunk(3000, 2000));
                writers.close(job, {sample.hash(), std::nullopt});
                if (call % 10 == 9) writers.end_of_run(thread, false);
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    if (!writers.finish(kLong)) ++failures;
    for (const auto& of_thread : lent) {
        for (const std::unique_ptr<Lent>& memory : of_thread)
            failures += memory->releases != 2;
    }
    return failures.load();
}

}  // namespace

TEST_CASE("Eight threads and two processes into one folder lose nothing and overwrite nothing") {
    const TempFolder out;
    SavingSettings settings = settings_in(out.path());
    const bool flat = GENERATE(false, true);
    if (flat) settings.place.flat = (out.path() / "flat").string();
    const pid_t child = fork();
    if (child == 0) ::_exit(save_by_threads(settings));
    CHECK(save_by_threads(settings) == 0);
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);

    std::set<std::string> whole;
    for (std::uint32_t thread = 0; thread < kThreads; ++thread)
        for (std::uint32_t call = 0; call < kCalls; ++call)
            whole.insert(file_of(sample_of(thread, call / 2, thread * 1000 + call, 5000)));
    const std::set<std::string> existing = tensors_in(out.path());
    CHECK(existing.size() == std::size_t{2} * kThreads * kCalls);
    for (const std::string& name : existing) {
        CAPTURE(name);
        CHECK(whole.count(read_text(out.path() / name)) == 1);
    }
    std::size_t indices = 0;
    std::size_t listed = 0;
    for (const auto& entry : fs::recursive_directory_iterator(out.path())) {
        if (entry.path().filename() != "index.jsonl") continue;
        ++indices;
        const ReadIndex index = read_index(entry.path());
        CHECK(index.end == "complete");
        listed += index.files.size();
    }
    CHECK(indices == 2);
    CHECK(listed == existing.size());
}

TEST_CASE("Two tensors of one name in a call are numbered in the order of opening") {
    const TempFolder out;
    TensorWriters& writers = writers_in(settings_in(out.path()), 4);
    std::vector<std::unique_ptr<Lent>> lent;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        REQUIRE(save(writers, sample_of(0, 0, seed, kBytes), lent));
    }
    CHECK(writers.finish(kLong));
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const std::string number = seed == 1 ? "" : "." + std::to_string(seed);
        const std::string name =
            "run0000/call0000/before_launch_triton_poi_fused_0_buf0_cuda:0" + number + ".pt";
        CHECK(read_text(out.path() / "tensors" / name) == file_of(sample_of(0, 0, seed, kBytes)));
    }
}

TEST_CASE("Runs without a finding are gone at the end, even those that ended before their tensors") {
    const TempFolder out;
    SavingSettings settings = settings_in(out.path());
    settings.only_findings = true;
    TensorWriters& writers = writers_in(settings, 3);
    std::vector<std::unique_ptr<Lent>> lent;
    for (std::uint32_t run = 0; run < 40; ++run) {
        for (std::uint32_t call = 0; call < 5; ++call) {
            REQUIRE(save(writers, sample_of(run, call, run * 10 + call, 20000), lent));
        }
        writers.end_of_run(run, run == 17);
    }
    CHECK(writers.finish(kLong));
    const std::set<std::string> files_now = tensors_in(out.path() / "tensors");
    CHECK(files_now.size() == 5);
    for (const std::string& name : files_now)
        CHECK(name.rfind("run0017/", 0) == 0);
    CHECK(names_of(read_index(out.path() / "tensors/index.jsonl")) == files_now);
    std::size_t folders = 0;
    for (const auto& entry : fs::directory_iterator(out.path() / "tensors"))
        folders += entry.is_directory() ? 1 : 0;
    CHECK(folders == 1);
}

TEST_CASE("The options determine where tensors go") {
    Options options;
    HeaderFacts header;
    CHECK(saving_settings(options, "/out", "/here", header).place.flat.empty());
    options.pt_layout = PtLayout::torch;
    const SavingSettings by_default = saving_settings(options, "/out", "/here", header);
    CHECK(by_default.place.flat == "/here/tmp/aoti_torch");
    CHECK_FALSE(by_default.place.follows_link);
    options.torch_save_dir = "dumps//";
    const SavingSettings given = saving_settings(options, "/out", "/here", header);
    CHECK(given.place.flat == "/here/dumps");
    CHECK(given.place.follows_link);
    options.torch_save_dir = "/data";
    CHECK(saving_settings(options, "/out", "/here", header).place.flat == "/data");
}

}  // namespace aoti_dbg::test::tensor_writers_test

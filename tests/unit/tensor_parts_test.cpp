// Large tensors, whose chunks any thread writes. Torn, refused, abandoned and wrongly announced ones come
// first; then the files must equal those of a single thread.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>

#include "shim/runtime/clock.hpp"
#include "shim/save/tensor_writers.hpp"
#include "tests/support/in_child.hpp"
#include "tests/unit/saver_fixture.hpp"

namespace aoti_dbg::test::tensor_parts_test {
namespace {

constexpr std::uint32_t kLong = 60000;
constexpr std::size_t kMiB = std::size_t{1} << 20U;
// In parts, with an end that fills no piece.
constexpr std::size_t kLarge = 21 * kMiB + 4;

#if defined(__SANITIZE_THREAD__)
constexpr bool kKnowsForks = false;
#else
constexpr bool kKnowsForks = true;
#endif

// Their threads may be inside until exit, so none is ever freed.
TensorWriters& writers_in(const std::filesystem::path& out, std::uint32_t threads = 4) {
    static auto& all = *new std::vector<TensorWriters*>;
    const Result<TensorWriters*> made = TensorWriters::start(settings_in(out), threads);
    if (!made.ok()) FAIL(made.status().message());
    all.push_back(made.value());
    return *made.value();
}

std::atomic<int> g_chunks_out{0};

/// Appends a copy of the bytes that is freed when the chunk is returned.
void append(TensorWriters& writers, SavingJob* job, std::span<const std::byte> bytes) {
    auto* const memory = new std::vector<std::byte>(bytes.begin(), bytes.end());
    ++g_chunks_out;
    writers.append(job, {*memory,
                         [](void* context) {
                             auto* const own = static_cast<std::vector<std::byte>*>(context);
                             std::fill(own->begin(), own->end(), std::byte{0xee});
                             delete own;
                             --g_chunks_out;
                         },
                         memory});
}

SavingJob* open(TensorWriters& writers, const Sample& sample) {
    return with_description(sample, [&](const TensorToSave& what) { return writers.open(what); });
}

/// Saves in chunks of random sizes. With `most`, it stops after so many bytes and gives the job up instead of
/// closing it.
void save(TensorWriters& writers, const Sample& sample, Random& random, std::size_t most = SIZE_MAX) {
    SavingJob* const job = open(writers, sample);
    REQUIRE(job != nullptr);
    const std::vector<std::byte> content = sample.content();
    std::span<const std::byte> rest = std::span(content).first(std::min(most, content.size()));
    while (!rest.empty()) {
        const std::size_t length = std::min(rest.size(), 1 + random.below(5 * kMiB));
        append(writers, job, rest.first(length));
        rest = rest.subspan(length);
    }
    most < content.size() ? writers.give_up(job) : writers.close(job, {sample.hash(), std::nullopt});
}

std::string path_of(const Sample& sample) {
    char path[80];
    std::snprintf(path, sizeof path,
                  "tensors/run%04u/call%04u/before_launch_triton_poi_fused_0_buf0_cuda:0.pt", sample.run,
                  sample.call);
    return path;
}

}  // namespace

TEST_CASE("Large tensors whose bytes do not all arrive leave no torn file and keep no memory") {
    for (const std::size_t most : {std::size_t{0}, std::size_t{1}, 3 * kMiB, kLarge - 1}) {
        const TempFolder out;
        TensorWriters& writers = writers_in(out.path());
        Random random;
        save(writers, sample_of(0, 0, 1, kLarge), random);
        save(writers, sample_of(0, 1, 2, kLarge), random, most);
        save(writers, sample_of(0, 2, 3, kLarge), random);
        CHECK(writers.finish(kLong));
        CHECK(g_chunks_out == 0);
        const ReadIndex index = read_index(out.path() / "tensors/index.jsonl");
        CHECK(index.end == "complete");
        CHECK(index.files.size() == 2);
        CHECK(names_of(index) == tensors_in(out.path() / "tensors"));
        CHECK(writers.progress().left_out == 1);
        for (const std::uint32_t call : {0, 2}) {
            const Sample sample = sample_of(0, call, call + 1, kLarge);
            CHECK(read_text(out.path() / path_of(sample)) == file_of(sample));
        }
    }
}

TEST_CASE("A large tensor with more or fewer bytes than announced fails alone") {
    const TempFolder out;
    TensorWriters& writers = writers_in(out.path());
    Random random;
    const std::vector<std::byte> content = sample_of(0, 0, 1, kLarge).content();
    for (const std::size_t bytes : {kLarge - 4, kLarge, kLarge + 1}) {
        const Sample sample = sample_of(0, static_cast<std::uint32_t>(bytes - kLarge + 4), 1, kLarge);
        SavingJob* const job = open(writers, sample);
        REQUIRE(job != nullptr);
        append(writers, job, std::span(content).first(kLarge - 4));
        if (bytes > kLarge - 4) append(writers, job, std::vector<std::byte>(bytes - (kLarge - 4)));
        writers.close(job, {});
    }
    CHECK(writers.finish(kLong));
    CHECK(g_chunks_out == 0);
    CHECK(tensors_in(out.path() / "tensors").size() == 1);
    CHECK(writers.progress().left_out == 2);
}

TEST_CASE("A file system that refuses such sizes loses that tensor, and the next ones are saved") {
    if (!kKnowsForks) return;
    const TempFolder out;
    const int status = in_child([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{12 * kMiB, 12 * kMiB};
        setrlimit(RLIMIT_FSIZE, &limit);
        Random random;
        TensorWriters& writers = writers_in(out.path());
        save(writers, sample_of(0, 0, 1, kLarge), random);
        save(writers, sample_of(0, 1, 2, 9 * kMiB), random);
        save(writers, sample_of(0, 2, 3, kLarge), random);
        const bool ended = writers.finish(kLong) && g_chunks_out == 0 && writers.progress().left_out == 2;
        ::_exit(ended ? 7 : 8);
    });
    CHECK(WEXITSTATUS(status) == 7);
    const Sample sample = sample_of(0, 1, 2, 9 * kMiB);
    CHECK(tensors_in(out.path() / "tensors").size() == 1);
    CHECK(read_text(out.path() / path_of(sample)) == file_of(sample));
}

TEST_CASE("Abandoned in the middle of large tensors, saving leaves whole files only") {
    for (int after_us : {0, 500, 2000, 8000, 30000}) {
        const TempFolder out;
        TensorWriters& writers = writers_in(out.path());
        Random random;
        std::thread saves([&] {
            for (std::uint32_t call = 0; call < 6 && !writers.is_stopped(); ++call) {
                const Sample sample = sample_of(0, call, call, kLarge);
                SavingJob* const job = open(writers, sample);
                if (job == nullptr) return;
                const std::vector<std::byte> content = sample.content();
                for (std::size_t at = 0; at < kLarge; at += 4 * kMiB)
                    append(writers, job, std::span(content).subspan(at, std::min(4 * kMiB, kLarge - at)));
                writers.close(job, {sample.hash(), std::nullopt});
            }
        });
        std::this_thread::sleep_for(std::chrono::microseconds(after_us));
        writers.abandon();
        saves.join();
        writers.finish(kLong);
        CHECK(g_chunks_out == 0);
        const ReadIndex index = read_index(out.path() / "tensors/index.jsonl");
        CHECK(index.end == "abandoned");
        CHECK(names_of(index) == tensors_in(out.path() / "tensors"));
        for (const std::string& path : tensors_in(out.path() / "tensors")) {
            const auto call = static_cast<std::uint32_t>(path[path.find("call") + 7] - '0');
            CHECK(read_text(out.path() / "tensors" / path) == file_of(sample_of(0, call, call, kLarge)));
        }
    }
}

TEST_CASE("The storage before a large tensor is a hole, and the parts' checksums combine to the file's") {
    const TempFolder out;
    TensorWriters& writers = writers_in(out.path());
    const Sample sample = sample_of(0, 0, 1, kLarge);
    SavingJob* const job = open(writers, sample);
    REQUIRE(job != nullptr);
    std::vector<std::byte> content = sample.content();
    const std::size_t hole = 10 * kMiB;
    writers.append(job, {{static_cast<const std::byte*>(nullptr), hole}});
    append(writers, job, std::span(content).subspan(hole));
    writers.close(job, {});
    CHECK(writers.finish(kLong));
    std::fill_n(content.begin(), hole, std::byte{0});
    const std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(kLarge / 4)};
    const std::vector<std::int64_t> strides = {1};
    const PtFrame frame = pt_frame({DType::float32, sizes, strides, 0, kLarge, "cuda:0"}, crc32(0, content));
    const std::string text = read_text(out.path() / path_of(sample));
    REQUIRE(text.size() == frame.head.size() + kLarge + frame.tail.size());
    CHECK(std::memcmp(text.data(), frame.head.data(), frame.head.size()) == 0);
    CHECK(std::memcmp(text.data() + frame.head.size(), content.data(), kLarge) == 0);
    CHECK(std::memcmp(text.data() + frame.head.size() + kLarge, frame.tail.data(), frame.tail.size()) == 0);
}

TEST_CASE("Large and small tensors from many threads equal those of one thread, equal ones once") {
    const TempFolder out;
    TensorWriters& writers = writers_in(out.path());
    std::vector<std::thread> threads;
    for (std::uint32_t thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            Random random(thread + 1);
            for (std::uint32_t i = 0; i < 6; ++i) {
                // All threads share every third one.
                const std::uint64_t seed = i % 3 == 0 ? 1000 + i : thread * 10 + i;
                const Sample sample = sample_of(0, thread * 10 + i, seed, i % 2 == 0 ? kLarge : 5000);
                SavingJob* const job = open(writers, sample);
                const std::vector<std::byte> content = sample.content();
                writers.expect(job, {sample.hash(), std::nullopt});
                std::span<const std::byte> rest = content;
                while (!rest.empty()) {
                    const std::size_t length = std::min(rest.size(), 1 + random.below(5 * kMiB));
                    append(writers, job, rest.first(length));
                    rest = rest.subspan(length);
                }
                writers.close(job, {sample.hash(), std::nullopt});
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(writers.finish(kLong));
    CHECK(g_chunks_out == 0);
    CHECK(writers.progress().files == 24);
    CHECK(writers.progress().linked == 6);
    for (std::uint32_t thread = 0; thread < 4; ++thread) {
        for (std::uint32_t i = 0; i < 6; ++i) {
            const std::uint64_t seed = i % 3 == 0 ? 1000 + i : thread * 10 + i;
            const Sample sample = sample_of(0, thread * 10 + i, seed, i % 2 == 0 ? kLarge : 5000);
            CHECK(read_text(out.path() / path_of(sample)) == file_of(sample));
        }
    }
}

TEST_CASE("A large tensor waits for an equal one that is complete, and for no other") {
    const bool is_complete = GENERATE(true, false);  // the first one
    const bool comes_whole = GENERATE(true, false);
    const TempFolder out;
    TensorWriters& writers = writers_in(out.path(), 1);
    const std::vector<std::byte> content = sample_of(0, 0, 1, kLarge).content();
    const SavedFacts facts{sample_of(0, 0, 1, kLarge).hash(), std::nullopt};
    // Holds up the only thread in its release of memory until the test says otherwise.
    static std::atomic<bool> holds{false};
    static std::atomic<bool> is_held{false};
    holds = true;
    is_held = false;
    const auto begin = [&](std::uint32_t call) {
        SavingJob* const job = open(writers, sample_of(0, call, 1, kLarge));
        REQUIRE(job != nullptr);
        writers.expect(job, facts);
        return job;
    };
    SavingJob* const first = begin(0);
    writers.append(first, {std::span(content).first(3 * kMiB),
                           [](void*) {
                               is_held = true;
                               while (holds)
                                   usleep(1000);
                           },
                           nullptr});
    while (!is_held)
        usleep(1000);
    const auto end_first = [&] {
        if (comes_whole) append(writers, first, std::span(content).subspan(3 * kMiB));
        comes_whole ? writers.close(first, facts) : writers.give_up(first);
    };
    if (is_complete) end_first();
    SavingJob* const second = begin(1);
    append(writers, second, std::span(content).first(9 * kMiB));
    holds = false;
    if (!is_complete) {
        // Written, because its equal may never be complete.
        const std::uint64_t until = monotonic_nanoseconds() + 60'000'000'000;
        while (writers.progress().bytes < 12 * kMiB && monotonic_nanoseconds() < until)
            usleep(1000);
        CHECK(writers.progress().bytes == 12 * kMiB);
    }
    append(writers, second, std::span(content).subspan(9 * kMiB));
    writers.close(second, facts);
    if (!is_complete) end_first();
    CHECK(writers.finish(kLong));
    CHECK(g_chunks_out == 0);
    const SaveProgress progress = writers.progress();
    CHECK(progress.files == (comes_whole ? 2 : 1));
    CHECK(progress.linked == (comes_whole ? 1 : 0));
    CHECK(progress.left_out == (comes_whole ? 0 : 1));
    if (is_complete && comes_whole) CHECK(progress.bytes < kLarge + kMiB);
    const std::set<std::string> files = tensors_in(out.path() / "tensors");
    CHECK(files.size() == (comes_whole ? 2 : 1));
    for (const std::string& path : files)
        CHECK(read_text(out.path() / "tensors" / path) == file_of(sample_of(0, 0, 1, kLarge)));
}

TEST_CASE("While runs are removed, a kept one loses nothing, although all share a large tensor") {
    const TempFolder out;
    SavingSettings settings = settings_in(out.path());
    settings.keep_last = 1;
    const Result<TensorWriters*> made = TensorWriters::start(settings, 3);
    REQUIRE(made.ok());
    static auto& all = *new std::vector<TensorWriters*>;  // their threads may be inside until exit
    all.push_back(made.value());
    TensorWriters& writers = *made.value();
    const std::vector<std::byte> content = sample_of(0, 0, 1, kLarge).content();
    const SavedFacts facts{sample_of(0, 0, 1, kLarge).hash(), std::nullopt};
    constexpr std::uint32_t kRuns = 12;
    for (std::uint32_t run = 0; run < kRuns; ++run) {
        SavingJob* const job = open(writers, sample_of(run, 0, 1, kLarge));
        REQUIRE(job != nullptr);
        writers.expect(job, facts);
        for (std::size_t at = 0; at < kLarge; at += 4 * kMiB)
            append(writers, job, std::span(content).subspan(at, std::min(4 * kMiB, kLarge - at)));
        writers.close(job, facts);
        writers.end_of_run(run, false);
    }
    CHECK(writers.finish(kLong));
    CHECK(g_chunks_out == 0);
    const std::set<std::string> files = tensors_in(out.path() / "tensors");
    REQUIRE(files.size() == 1);
    CHECK(files.begin()->rfind("run0011/", 0) == 0);
    CHECK(read_text(out.path() / "tensors" / *files.begin()) == file_of(sample_of(0, 0, 1, kLarge)));
}

}  // namespace aoti_dbg::test::tensor_parts_test

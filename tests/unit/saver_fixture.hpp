// Tensors whose contents follow from a number, a saver that records its messages, and a view of the resulting
// folder.
#pragma once

#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "serializer/crc32.hpp"
#include "serializer/json_line.hpp"
#include "serializer/pt_file.hpp"
#include "shim/save/tensor_saver.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::test {

/// A float32 vector of `bytes` on cuda:0, with contents generated from `seed`.
struct Sample {
    std::uint32_t run = 0;
    std::uint32_t call = 0;
    std::string kernel = "triton_poi_fused_0";
    std::string label = "buf0";
    std::uint64_t seed = 1;
    std::size_t bytes = 64;
    EventSide side = EventSide::before;

    [[nodiscard]] std::vector<std::byte> content() const {
        std::vector<std::byte> all(bytes);
        Random random(seed * 0x9E3779B97F4A7C15ULL + 1);
        for (std::size_t at = 0; at < bytes; at += 8) {
            const std::uint64_t bits = random.bits();
            std::memcpy(&all[at], &bits, std::min<std::size_t>(8, bytes - at));
        }
        return all;
    }
    [[nodiscard]] BytesHash hash() const { return {bytes, seed}; }
};

inline Sample sample_of(std::uint32_t run, std::uint32_t call, std::uint64_t seed, std::size_t bytes = 64) {
    Sample sample;
    sample.run = run;
    sample.call = call;
    sample.seed = seed;
    sample.bytes = bytes;
    return sample;
}

/// The expected file of a sample.
inline std::string file_of(const Sample& sample) {
    const std::vector<std::byte> content = sample.content();
    const std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(sample.bytes / 4)};
    const std::vector<std::int64_t> strides = {1};
    const PtFrame frame =
        pt_frame({DType::float32, sizes, strides, 0, sample.bytes, "cuda:0"}, crc32(0, content));
    std::string text;
    for (const std::vector<std::byte>* part : {&frame.head, &content, &frame.tail})
        text.append(reinterpret_cast<const char*>(part->data()), part->size());
    return text;
}

/// `to` is called with a TensorToSave that lives as long as the call.
template <typename To>
auto with_description(const Sample& sample, To to) {
    const std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(sample.bytes / 4)};
    const std::vector<std::int64_t> strides = {1};
    TensorToSave what;
    what.place = {sample.side, sample.run, sample.call, 7, sample.kernel, sample.label, "cuda:0"};
    what.model = 0;
    what.position = 2;
    what.tensor = {DType::float32, sizes, strides, 0, sample.bytes, "cuda:0"};
    what.storage_bytes = static_cast<std::int64_t>(sample.bytes);
    return to(what);
}

/// A saver and its messages, used by one thread.
class Saving {
  public:
    explicit Saving(SavingSettings settings, const FileCalls& calls = system_file_calls())
        : made(TensorSaver::make(
              settings, [this](Severity, std::string line) { said.push_back(std::move(line)); }, calls)) {}
    [[nodiscard]] TensorSaver& saver() { return *made.value(); }

    /// The path of the file below the folder, or empty if it was skipped.
    std::string save(const Sample& sample, bool with_hash = true) {
        SavingJob job;
        if (!with_description(sample, [&](const TensorToSave& what) { return saver().open(what, job); }))
            return {};
        if (with_hash) job.facts.hash = sample.hash();
        if (saver().begin(job, true, hand) == TensorSaver::Begun::writes) {
            saver().write(job, sample.content(), true);
            saver().finish(job, hand);
        }
        std::vector<SavingJob*> freed;
        saver().take_freed_by(job, freed);
        CHECK(freed.empty());
        const bool exists = std::filesystem::exists(saver().folder().path() + "/" + job.path());
        return exists ? job.path() : std::string();
    }
    [[nodiscard]] std::uint64_t left_out(LeftOut why) {
        return saver().counts().left_out[static_cast<std::size_t>(why)].load();
    }
    void evict() {
        while (saver().evict_one(hand)) {
        }
    }

    std::vector<std::string> said;
    Result<std::unique_ptr<TensorSaver>> made;
    TensorSaver::Hand hand;
};

inline SavingSettings settings_in(const std::filesystem::path& out) {
    SavingSettings settings;
    settings.place.out = out.string();
    settings.header.pid = 4242;
    settings.header.command = "victim";
    return settings;
}

/// An index as its readers see it: the lines of files that no later line removed.
struct ReadIndex {
    std::map<std::string, std::string> files;  // line by path
    std::string end;                           // the last line's `how`; empty: the process was killed
    std::size_t broken = 0;                    // invalid lines
};

inline ReadIndex read_index(const std::filesystem::path& path) {
    ReadIndex index;
    const std::string text = read_text(path);
    JsonLine line;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        if (end == std::string::npos) break;  // incomplete
        const std::string one = text.substr(at, end - at);
        at = end + 1;
        if (one.empty()) continue;
        if (!line.parse(one)) {
            ++index.broken;
            continue;
        }
        const std::string_view event = line.root().member("event").text();
        if (event == "file" && !line.root().member("same_as"))
            index.files[std::string(line.root().member("path").text())] = one;
        if (event == "end") index.end = line.root().member("how").text();
        if (event != "evicted") continue;
        const std::string run = ",\"run\":" + std::string(line.root().member("run").text()) + ",";
        for (auto file = index.files.begin(); file != index.files.end();)
            file = file->second.find(run) != std::string::npos ? index.files.erase(file) : std::next(file);
    }
    return index;
}

/// Paths of all *.pt files below the folder.
inline std::set<std::string> tensors_in(const std::filesystem::path& folder) {
    std::set<std::string> names;
    if (!std::filesystem::exists(folder)) return names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.path().extension() == ".pt" && entry.is_regular_file())
            names.insert(std::filesystem::relative(entry.path(), folder).string());
    }
    return names;
}

inline std::set<std::string> names_of(const ReadIndex& index) {
    std::set<std::string> names;
    for (const auto& [path, line] : index.files)
        names.insert(path);
    return names;
}

inline int open_descriptors() {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
        count += entry.path().empty() ? 0 : 1;
    return count;
}

}  // namespace aoti_dbg::test

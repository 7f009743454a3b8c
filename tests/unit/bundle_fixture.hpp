// A recording with two captured launches, written by hand, for tests of bundles.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/fnv.hpp"
#include "cli/bundle/bundle_contents.hpp"
#include "cli/bundle/bundle_files.hpp"
#include "cli/bundle/bundle_writer.hpp"
#include "cli/tensor_files.hpp"
#include "serializer/tensor_index_jsonl.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/pt_cases.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::cli::bundles {

namespace fs = std::filesystem;
using aoti_dbg::test::PtCase;
using aoti_dbg::test::read_text;
using aoti_dbg::test::TempFolder;
using aoti_dbg::test::whole_file;
using aoti_dbg::test::write_text;

inline std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Call 1 reads `x` and writes `y`. Call 2 reads `y`, as call 1 left it, and writes `x`.
class Recorded {
  public:
    explicit Recorded(std::int64_t elements = 8) : elements_(elements) {
        const std::string code = "the code of a kernel";
        image_hash_ = fnv1a(code);
        image_ = "00c0de.image";
        write("launches/" + image_, code);
        const std::string x = contents(1);
        const std::string y = contents(2);
        const std::string z = contents(3);
        save(1, "x", 0, EventSide::before, x);
        save(1, "y", 1, EventSide::before, y);
        save(1, "x", 0, EventSide::after, x, "run0000/call0001/before_x.pt");
        save(1, "y", 1, EventSide::after, z);
        save(2, "y", 0, EventSide::before, z);
        save(2, "x", 1, EventSide::before, x);
        save(2, "y", 0, EventSide::after, z);
        write_index("");
        launch(1, {"x", "y"});
        launch(2, {"y", "x"});
    }

    [[nodiscard]] fs::path path() const { return folder_.path() / "out"; }
    [[nodiscard]] std::string bundle_path() const { return (folder_.path() / "one.aotidbg").string(); }
    [[nodiscard]] std::vector<LaunchFile> launches() const {
        Result<std::vector<LaunchFile>> found = launches_of(path().string());
        REQUIRE(found.ok());
        return std::move(found.value());
    }
    /// Bytes of the files that a bundle of all launches needs.
    [[nodiscard]] std::uint64_t needed_bytes() const {
        return 3 * contents(1).size() + fs::file_size(path() / "launches" / image_);
    }

    Status bundle(bool is_redacted = false) const {
        const std::vector<LaunchFile> files = launches();
        const Result<BundleContents> contents = bundle_contents(files, is_redacted, "1.2.3");
        if (!contents.ok()) return contents.status();
        const Result<std::uint64_t> bytes =
            write_bundle(bundle_path(), contents.value(), *files.front().files);
        if (!bytes.ok()) return bytes.status();
        CHECK(bytes.value() == fs::file_size(bundle_path()));
        return {};
    }

    void write(const std::string& name, const std::string& text) const {
        fs::create_directories((path() / name).parent_path());
        write_text(path() / name, text);
    }
    /// `folder` of the header; empty: none.
    void write_index(const std::string& folder) const {
        std::string text;
        HeaderFacts header;
        header.pid = 4242;
        header.command = "python secret.py";
        header.host = "node7";
        append_index_header(header, folder, text);
        write("tensors/index.jsonl", text + index_);
    }

  private:
    [[nodiscard]] std::string contents(int first) const {
        PtCase saved{"", DType::float32, {elements_}, {1}, 0, {}, "cuda:0"};
        std::vector<float> numbers;
        for (std::int64_t i = 0; i < elements_; ++i)
            numbers.push_back(static_cast<float>(1000 * first + 7 * (i % 100)));
        const auto bytes = std::as_bytes(std::span(numbers));
        saved.storage.assign(bytes.begin(), bytes.end());
        return text_of(whole_file(saved));
    }

    /// With `same_as`, the file itself does not exist.
    void save(std::uint32_t call, const std::string& label, std::uint32_t position, EventSide side,
              const std::string& file, const std::string& same_as = {}) {
        const std::string path = "run0000/call000" + std::to_string(call) + "/" +
                                 (side == EventSide::before ? "before_" : "after_") + label + ".pt";
        const std::int64_t sizes[] = {elements_};
        const std::int64_t strides[] = {1};
        IndexedTensor line;
        line.path = path;
        line.side = side;
        line.run = line.model = 0;
        line.call = call;
        line.kernel = "kernel";
        line.label = label;
        line.position = position;
        line.sizes = sizes;
        line.strides = strides;
        line.storage_bytes = 4 * elements_;
        line.saved_storage_bytes = static_cast<std::uint64_t>(4 * elements_);
        line.device = "cuda:0";
        line.bytes = file.size();
        line.has_hash = true;
        line.hash_low = 0x5ec4e7;
        line.same_as = same_as;
        append_index_file(line, index_);
        if (same_as.empty()) write("tensors/" + path, file);
    }

    void launch(std::uint32_t call, const std::vector<std::string>& labels) const {
        LaunchRecord launch;
        launch.run = 0;
        launch.call = call;
        launch.model = 0;
        launch.kernel = launch.function = "kernel_" + std::to_string(call);
        launch.grid = launch.block = {1, 1, 1};
        launch.image = image_;
        launch.image_hash = image_hash_;
        launch.device = "NVIDIA H100";
        launch.compute_capability = 90;
        launch.driver = 13000;
        for (std::uint32_t i = 0; i < labels.size(); ++i) {
            launch.parameters.push_back({8 * i, std::vector<std::byte>(8, std::byte{1}), labels[i], 0});
            LaunchTensor tensor{labels[i], i, 0x101010101010101, {}};
            tensor.facts.dtype = "float32";
            tensor.facts.sizes = {elements_};
            tensor.facts.strides = {1};
            launch.tensors.push_back(tensor);
        }
        write("launches/run0000-call000" + std::to_string(call) + ".json", render_launch(launch));
    }

    TempFolder folder_;
    std::int64_t elements_;
    std::string image_;
    std::uint64_t image_hash_ = 0;
    std::string index_;
};

/// The contents of one tensor, or nothing if it is not saved.
inline std::optional<std::string> elements(const LaunchFile& file, const LaunchTensor& tensor,
                                           EventSide side) {
    TensorFiles tensors(file.events, file.files);
    ArgumentFacts facts;
    facts.label = tensor.label;
    compare::RecordedTensor recorded;
    recorded.facts = &facts;
    recorded.tensor = &tensor.facts;
    recorded.run = file.launch.run;
    recorded.call = file.launch.call;
    recorded.side = side;
    recorded.position = tensor.position;
    const std::optional<compare::SavedElements> saved = tensors.elements_of(recorded);
    if (!saved) return std::nullopt;
    return text_of(saved->bytes);
}

}  // namespace aoti_dbg::cli::bundles

#include "cli/bundle/bundle_contents.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/fnv.hpp"
#include "base/words.hpp"
#include "cli/bundle/redacted_tensor.hpp"
#include "cli/replay/recorded_model.hpp"
#include "cli/tensor_files.hpp"
#include "serializer/crc32.hpp"
#include "serializer/number_text.hpp"
#include "serializer/tensor_index_jsonl.hpp"

namespace aoti_dbg::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kIndexName = "tensors/index.jsonl";

/// A name from an index may not leave the folder into which a bundle is unpacked.
bool is_plain(const std::string& path) {
    const std::filesystem::path parsed(path);
    return !path.empty() && parsed.is_relative() && path.find('\0') == std::string::npos &&
           std::ranges::none_of(parsed, [](const auto& part) { return part == ".." || part.empty(); });
}

class Collector {
  public:
    Collector(const LaunchFile& first, RecordedModels models, bool is_redacted)
        : files_(*first.files),
          tensors_(first.events, first.files),
          models_(std::move(models)),
          is_redacted_(is_redacted) {}

    Status add(const LaunchFile& file) {
        BundledLaunch& launch = contents_.manifest.launches.emplace_back();
        launch = {file.launch.run, file.launch.call, file.launch.kernel, {}, {}, {}};
        if (Status added = add_code(file, launch); !added.ok()) return added;
        if (Status added = add_whole("launches/" + file_name(file.path), file.path); !added.ok())
            return added;
        for (const LaunchTensor& tensor : file.launch.tensors)
            for (const EventSide side : {EventSide::before, EventSide::after})
                if (Status added = add_tensor(file.launch, tensor, side); !added.ok()) return added;
        for (const LaunchTensor& tensor : created_tensors(file.launch))
            if (Status added = add_tensor(file.launch, tensor, EventSide::after); !added.ok()) return added;
        return {};
    }

    BundleContents finish(const std::vector<LaunchFile>& launches, const std::string& created_by) {
        BundleManifest& manifest = contents_.manifest;
        manifest.created_by = created_by;
        manifest.is_redacted = is_redacted_;
        manifest.contains = sentence(launches.size());
        // An op has no device.
        const auto kernel = std::ranges::find_if(
            launches, [](const LaunchFile& file) { return !file.launch.device.empty(); });
        const LaunchRecord& described = (kernel == launches.end() ? launches.front() : *kernel).launch;
        manifest.device = described.device;
        manifest.compute_capability = described.compute_capability;
        manifest.driver = described.driver;
        std::string index = whole_index(created_by);
        const std::uint64_t bytes = index.size();
        contents_.parts.push_back({kIndexName, bytes, std::move(index), {}, {}});
        for (const BundlePart& part : contents_.parts)
            manifest.members.push_back({part.name, part.bytes});
        return std::move(contents_);
    }

  private:
    /// Tensors with equal files.
    struct Distinct {
        std::string file;
        std::string path;  // in the index of the bundle
        std::uint64_t bytes = 0;
    };

    static std::string file_name(const std::string& path) {
        return std::filesystem::path(path).filename().string();
    }

    /// Adds a file as it is, if it is not there yet.
    Status add_whole(const std::string& name, const std::string& file) {
        if (!names_.insert(name).second) return {};
        const Result<FileContents> contents = files_.open(file);
        if (!contents.ok()) return contents.status();
        contents_.parts.push_back({name, contents.value().bytes.size(), {}, file, {}});
        return {};
    }

    Status add_code(const LaunchFile& file, BundledLaunch& launch) {
        const bool has_code = file.launch.kind == LaunchKind::triton;
        if (const Result<std::string> image = has_code ? image_of(file) : std::string(); !image.ok())
            return image.status();
        for (const std::string& path : files_beside(file))
            if (Status added = add_whole("launches/" + file_name(path), path); !added.ok()) return added;
        if (has_code) codes_.insert(file.launch.image);
        const RecordedModel& model = models_.model_of(file);
        launch.model = model.name;
        launch.torch = model.torch;
        return has_code ? add_source(file, launch) : Status();
    }

    /// Launches of one kernel share its source.
    Status add_source(const LaunchFile& file, BundledLaunch& launch) {
        Result<std::string> source = models_.source_of(file);
        if (!source.ok()) return source.status();
        if (source.value().empty()) return {};
        launch.source = "launches/";
        append_hex(fnv1a(source.value()), launch.source);
        launch.source += ".py";
        sources_.insert(launch.source);
        if (!names_.insert(launch.source).second) return {};
        const std::uint64_t bytes = source.value().size();
        contents_.parts.push_back({launch.source, bytes, std::move(source.value()), {}, {}});
        return {};
    }

    Status add_tensor(const LaunchRecord& launch, const LaunchTensor& tensor, EventSide side) {
        const bool is_before = side == EventSide::before;
        if (is_redacted_ && !is_before) return {};
        const auto saved = tensors_.saved_at({side, launch.run, launch.call, tensor.position, tensor.label});
        if (!saved) {
            if (!is_before || element_count(tensor.facts.sizes) == 0) return {};
            return Status::error("the contents of " + tensor.label + " before " + place_of(launch) +
                                 " are not saved. Capture the launch again");
        }
        const Result<FileContents> contents = files_.open(saved->file);
        if (!contents.ok()) return contents.status();
        Json line = Json::parse(saved->line, nullptr, false);
        if (!line.is_object() || !line["path"].is_string())
            return Status::error("the index of the saved tensors is damaged");
        const std::string path = line["path"].get<std::string>();
        if (!is_plain(path))
            return Status::error("the index of the saved tensors names a file outside its folder: " + path);
        for (const char* member : {"linked_to", "same_as"})
            line.erase(member);
        Result<Distinct> file = distinct(contents.value(), saved->file, path);
        if (!file.ok()) return file.status();
        if (file.value().path != path) {
            line["same_as"] = file.value().path;
            linked_bytes_ += file.value().bytes;
        }
        line["bytes"] = file.value().bytes;
        if (is_redacted_)
            for (const char* member : {"hash", "statistics"})
                line.erase(member);
        // A label may have bytes that are no UTF-8.
        index_ += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
        ++(is_before ? before_ : after_);
        return {};
    }

    /// Returns the first file with equal contents, and adds it to the bundle if it is this one.
    Result<Distinct> distinct(const FileContents& contents, const std::string& file,
                              const std::string& path) {
        const auto key = std::pair(contents.bytes.size(), crc32(0, contents.bytes));
        for (auto [at, end] = distinct_.equal_range(key); at != end; ++at) {
            if (at->second.file == file) return at->second;
            const Result<FileContents> other = files_.open(at->second.file);
            if (other.ok() && std::ranges::equal(other.value().bytes, contents.bytes)) return at->second;
        }
        const std::string name = "tensors/" + path;
        if (!names_.insert(name).second)
            return Status::error("the index of the saved tensors names two files " + path);
        BundlePart part{name, contents.bytes.size(), {}, file, {}};
        if (is_redacted_) {
            const Result<std::uint64_t> bytes = redacted_bytes(contents.bytes);
            if (!bytes.ok())
                return Status::error("cannot read " + files_.shown(file) + ": " + bytes.status().message());
            part.bytes = bytes.value();
            part.seed = distinct_.size();
        }
        tensor_bytes_ += part.bytes;
        const auto added = distinct_.emplace(key, Distinct{file, path, part.bytes});
        contents_.parts.push_back(std::move(part));
        return added->second;
    }

    [[nodiscard]] std::string whole_index(const std::string& created_by) const {
        HeaderFacts header;  // without the command line and the host name
        header.library = created_by;
        std::string text;
        append_index_header(header, {}, text);
        text += index_;
        const std::uint64_t lines = before_ + after_;
        const NamedCount counts[] = {{"files", lines},         {"linked", lines - distinct_.size()},
                                     {"bytes", tensor_bytes_}, {"linked_bytes", linked_bytes_},
                                     {"written_files", lines}, {"written_bytes", tensor_bytes_}};
        append_index_end({"complete", {}, counts, {}, {}}, text);
        return text;
    }

    [[nodiscard]] std::string sentence(std::size_t launches) const {
        std::string code = "The code of " + counted(codes_.size(), "module") + ", ";
        if (!sources_.empty()) code += "the Triton source of " + counted(sources_.size(), "kernel") + ", ";
        code += "and ";
        const std::string of = std::to_string(launches) + (launches == 1 ? " launch" : " launches");
        const std::string bytes = " (" + memory_text(tensor_bytes_) + ")";
        if (is_redacted_)
            return code + "random contents in place of " + counted(before_, "tensor") + " before " + of +
                   bytes + ".";
        return code + "the contents of " + counted(before_, "tensor") + " before and " +
               std::to_string(after_) + " after " + of + bytes + ", which are user data.";
    }

    RecordingFiles& files_;
    TensorFiles tensors_;
    RecordedModels models_;
    bool is_redacted_;
    BundleContents contents_;
    std::set<std::string> names_;  // of the members
    std::set<std::string> codes_;
    std::set<std::string> sources_;
    std::multimap<std::pair<std::size_t, std::uint32_t>, Distinct> distinct_;
    std::string index_;
    std::uint64_t before_ = 0;
    std::uint64_t after_ = 0;
    std::uint64_t tensor_bytes_ = 0;
    std::uint64_t linked_bytes_ = 0;  // that equal tensors save
};

}  // namespace

Result<BundleContents> bundle_contents(const std::vector<LaunchFile>& launches, bool is_redacted,
                                       const std::string& created_by) {
    Result<RecordedModels> models = RecordedModels::open(launches.front());
    if (!models.ok()) return models.status();
    Collector collector(launches.front(), std::move(models.value()), is_redacted);
    for (const LaunchFile& file : launches)
        if (Status added = collector.add(file); !added.ok()) return added;
    return collector.finish(launches, created_by);
}

}  // namespace aoti_dbg::cli

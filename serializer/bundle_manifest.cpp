#include "serializer/bundle_manifest.hpp"

#include <algorithm>

#include "serializer/event_fields.hpp"
#include "serializer/json_line.hpp"
#include "serializer/jsonl_members.hpp"

namespace aoti_dbg {
namespace {

void append_launch(const BundledLaunch& launch, std::string& out) {
    append_member(R"({"run":)", launch.run, out);
    append_member(R"(,"call":)", launch.call, out);
    append_member(R"(,"kernel":)", launch.kernel, out);
    if (!launch.model.empty()) append_member(R"(,"model":)", launch.model, out);
    if (!launch.torch.empty()) append_member(R"(,"torch":)", launch.torch, out);
    if (!launch.source.empty()) append_member(R"(,"source":)", launch.source, out);
    out += '}';
}

void append_one(const BundleMember& member, std::string& out) {
    append_member(R"({"name":)", member.name, out);
    append_member(R"(,"bytes":)", member.bytes, out);
    out += '}';
}

bool read_launches(JsonLine::Value list, std::vector<BundledLaunch>& to) {
    for (JsonLine::Value value = list.first(); value; value = value.next()) {
        BundledLaunch& launch = to.emplace_back();
        launch.kernel = string_of(value.member("kernel"));
        launch.model = string_of(value.member("model"));
        launch.torch = string_of(value.member("torch"));
        launch.source = string_of(value.member("source"));
        if (!read_integer(value.member("run"), launch.run)) return false;
        if (!read_integer(value.member("call"), launch.call)) return false;
    }
    return list.is(JsonLine::Kind::array);
}

bool read_members(JsonLine::Value list, std::vector<BundleMember>& to) {
    for (JsonLine::Value value = list.first(); value; value = value.next()) {
        BundleMember& member = to.emplace_back();
        member.name = string_of(value.member("name"));
        if (!read_integer(value.member("bytes"), member.bytes)) return false;
    }
    return list.is(JsonLine::Kind::array);
}

}  // namespace

std::string render_manifest(const BundleManifest& manifest) {
    std::string out;
    append_member(R"({"format":)", kBundleFormat, out);
    append_member(R"(,"version":)", kBundleVersion, out);
    append_member(R"(,"created_by":)", manifest.created_by, out);
    append_member(R"(,"contains":)", manifest.contains, out);
    out += manifest.is_redacted ? R"(,"redacted":true)" : R"(,"redacted":false)";
    append_member(R"(,"device":)", manifest.device, out);
    append_member(R"(,"compute_capability":)", manifest.compute_capability, out);
    append_member(R"(,"driver":)", static_cast<std::uint64_t>(std::max(manifest.driver, 0)), out);
    // One line for each, because people read this file.
    out += ",\n\"launches\":[";
    for (std::size_t i = 0; i < manifest.launches.size(); ++i) {
        out += i == 0 ? "\n" : ",\n";
        append_launch(manifest.launches[i], out);
    }
    out += "],\n\"members\":[";
    for (std::size_t i = 0; i < manifest.members.size(); ++i) {
        out += i == 0 ? "\n" : ",\n";
        append_one(manifest.members[i], out);
    }
    out += "]}\n";
    return out;
}

Result<BundleManifest> read_manifest(std::string_view text) {
    std::string line(text);
    std::ranges::replace(line, '\n', ' ');
    JsonLine json;
    if (!json.parse(line)) return Status::error("its manifest is not JSON");
    const JsonLine::Value root = json.root();
    if (root.member("format").text() != kBundleFormat) return Status::error("it is not an aoti-dbg bundle");
    std::uint32_t version = 0;
    if (!read_integer(root.member("version"), version) || version > kBundleVersion)
        return Status::error("it is of a newer version of aoti-dbg. Update aoti-dbg");
    BundleManifest manifest;
    manifest.created_by = string_of(root.member("created_by"));
    manifest.contains = string_of(root.member("contains"));
    manifest.is_redacted = root.member("redacted").text() == "true";
    manifest.device = string_of(root.member("device"));
    read_integer(root.member("compute_capability"), manifest.compute_capability);
    read_integer(root.member("driver"), manifest.driver);
    if (!read_launches(root.member("launches"), manifest.launches))
        return Status::error("the member \"launches\" of its manifest is missing or damaged");
    if (!read_members(root.member("members"), manifest.members))
        return Status::error("the member \"members\" of its manifest is missing or damaged");
    return manifest;
}

}  // namespace aoti_dbg

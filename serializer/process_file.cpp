#include "serializer/process_file.hpp"

#include <cstddef>

#include "serializer/event_fields.hpp"
#include "serializer/jsonl_members.hpp"
#include "serializer/number_text.hpp"
#include "serializer/ring_path.hpp"

namespace aoti_dbg {
namespace {

// Limits that no real process reaches, because the file may not be ours.
constexpr std::size_t kMostWords = std::size_t{1} << 16U;
constexpr std::size_t kMostVariables = 1024;
constexpr std::size_t kMostDevices = 256;

void append_text(std::string_view name, std::string_view text, std::string& out) {
    if (!text.empty()) append_member(name, text, out);
}

void take_device(JsonLine::Value from, ProcessFacts& facts) {
    DeviceFacts device;
    if (facts.devices.size() >= kMostDevices || !read_integer(from.member("device"), device.number)) return;
    device.name = string_of(from.member("name"));
    device.uuid = string_of(from.member("uuid"));
    read_integer(from.member("driver_version"), device.driver_version);
    facts.devices.push_back(std::move(device));
}

void take_process(JsonLine::Value from, ProcessFacts& facts) {
    read_integer(from.member("pid"), facts.pid);
    facts.rank = string_of(from.member("rank"));
    facts.working_folder = string_of(from.member("working_folder"));
    for (JsonLine::Value word = from.member("command").first(); word; word = word.next())
        if (facts.command.size() < kMostWords) facts.command.push_back(string_of(word));
    for (JsonLine::Value one = from.member("variables").first(); one; one = one.next())
        if (facts.variables.size() < kMostVariables)
            facts.variables.emplace_back(std::string(one.key()), string_of(one));
}

}  // namespace

void append_process_line(const ProcessFacts& facts, std::string& out) {
    append_member(R"({"event":"process","format":)", kProcessFormatName, out);
    append_member(R"(,"version":)", kProcessFormatVersion, out);
    append_member(R"(,"pid":)", facts.pid, out);
    append_text(R"(,"rank":)", facts.rank, out);
    append_text(R"(,"working_folder":)", facts.working_folder, out);
    out += R"(,"command":[)";
    for (const std::string& word : facts.command)
        append_member(&word == &facts.command.front() ? "" : ",", word, out);
    out += R"(],"variables":{)";
    for (const auto& variable : facts.variables) {
        append_member(&variable == &facts.variables.front() ? "" : ",", variable.first, out);
        append_member(":", variable.second, out);
    }
    out += "}}\n";
}

void append_device_line(const DeviceFacts& device, std::string& out) {
    append_member(R"({"event":"device","device":)", device.number, out);
    append_text(R"(,"name":)", device.name, out);
    append_text(R"(,"uuid":)", device.uuid, out);
    if (device.driver_version != 0) append_member(R"(,"driver_version":)", device.driver_version, out);
    out += "}\n";
}

Result<ProcessFacts> read_process(std::string_view text) {
    ProcessFacts facts;
    JsonLine json;
    for (bool is_first = true; !text.empty() || is_first; is_first = false) {
        const std::size_t end = text.find('\n');
        const bool is_whole = json.parse(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        std::uint32_t version = 0;
        if (is_whole) read_integer(json.root().member("version"), version);
        const bool is_head = is_whole && json.root().member("format").text() == kProcessFormatName &&
                             version == kProcessFormatVersion;
        if (is_first && !is_head) return Status::error("not a process file, or one of another version");
        if (is_first)
            take_process(json.root(), facts);
        else if (is_whole && json.root().member("event").text() == "device")
            take_device(json.root(), facts);
    }
    return facts;
}

std::string process_path(const std::string& ring) {
    return path_beside_ring(ring, "process", ".jsonl");
}

std::string uuid_text(const unsigned char* bytes, std::string_view device_name) {
    std::string text = device_name.find("MIG ") == std::string_view::npos ? "GPU-" : "MIG-";
    for (const std::size_t length : {4U, 2U, 2U, 2U, 6U}) {
        if (text.size() > 4) text += '-';
        append_hex({bytes, length}, text);
        bytes += length;
    }
    return text;
}

}  // namespace aoti_dbg

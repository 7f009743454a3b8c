#include "cli/replay/inspect.hpp"

#include "base/clean_text.hpp"
#include "base/message.hpp"
#include "base/words.hpp"
#include "cli/bundle/manifest_of.hpp"
#include "cli/print.hpp"
#include "cli/replay/launched.hpp"
#include "cli/tensor_files.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr int kUnreadable = 2;

std::string line(const char* title, const std::string& text) {
    std::string padded = std::string("  ") + title;
    padded.resize(std::max<std::size_t>(padded.size(), 13), ' ');
    return padded + clean_text(text) + "\n";
}

std::string list(const std::vector<std::int64_t>& numbers) {
    std::string text;
    for (const std::int64_t number : numbers)
        text += (text.empty() ? "" : ",") + std::to_string(number);
    return "[" + text + "]";
}

std::string described(const TensorFacts& facts) {
    return shape_of(facts) + " with strides " + list(facts.strides);
}

/// 9000 is 9.0, if a whole number has 1000 parts.
std::string version_text(std::uint32_t number, std::uint32_t whole, std::uint32_t part) {
    return std::to_string(number / whole) + "." + std::to_string(number % whole / part);
}

std::string parameter_text(const LaunchRecord& launch, const LaunchParameter& parameter) {
    std::string text =
        "offset " + std::to_string(parameter.offset) + ", " + counted(parameter.bytes.size(), "byte") + ": ";
    for (const LaunchTensor& tensor : launch.tensors)
        if (!parameter.tensor.empty() && tensor.label == parameter.tensor)
            return text + tensor.label + " " + described(tensor.facts);
    append_hex(
        std::span(reinterpret_cast<const unsigned char*>(parameter.bytes.data()), parameter.bytes.size()),
        text);
    if (parameter.reachable != 0)
        text += ", the address of " + counted(parameter.reachable, "byte") + " outside of all tensors";
    return text;
}

class Inspection {
  public:
    explicit Inspection(const LaunchFile& first) : tensors_(first.events, first.files) {}

    std::string text_of(const LaunchFile& file) {
        total_ = 0;
        const LaunchRecord& launch = file.launch;
        std::string text = place_of(launch) + "\n";
        text += launch.kind == LaunchKind::op ? line("op", launch.op) : kernel_lines(file);
        text += saved_lines(file, EventSide::before, "before") + saved_lines(file, EventSide::after, "after");
        return text + line("total", memory_text(total_));
    }

  private:
    std::string kernel_lines(const LaunchFile& file) {
        const LaunchRecord& launch = file.launch;
        std::string shape = "grid " + triple_text(launch.grid) + ", block " + triple_text(launch.block);
        if (launch.cluster[0] != 0) shape += ", cluster " + triple_text(launch.cluster);
        shape += ", shared memory " + memory_text(launch.shared_bytes);
        if (launch.is_cooperative) shape += ", cooperative";
        std::string text = line("function", launch.function) + line("shape", shape);
        text += line("device", launch.device + ", compute capability " +
                                   version_text(launch.compute_capability, 10, 1) + ", driver " +
                                   version_text(static_cast<std::uint32_t>(launch.driver), 1000, 10));
        text += file_lines(file);
        for (const LaunchParameter& parameter : launch.parameters)
            text += line("parameter", parameter_text(launch, parameter));
        return text;
    }

    /// Returns the size of a file of the recording, or why it cannot be read.
    std::string size_of(const LaunchFile& file, const std::string& path) {
        const Result<FileContents> contents = file.files->open(path);
        if (!contents.ok()) return contents.status().message();
        total_ += contents.value().bytes.size();
        return memory_text(contents.value().bytes.size());
    }

    std::string file_lines(const LaunchFile& file) {
        const std::vector<std::string> paths = files_beside(file);
        if (paths.empty()) return line("code", "not captured");
        std::string text;
        for (const std::string& path : paths)
            text += line("code", path + ", " + size_of(file, path));
        return text;
    }

    std::string saved_lines(const LaunchFile& file, EventSide side, const char* title) {
        std::string text;
        for (const LaunchTensor& tensor : file.launch.tensors) {
            const auto saved =
                tensors_.saved_at({side, file.launch.run, file.launch.call, tensor.position, tensor.label});
            text += line(title, tensor.label + " " + described(tensor.facts) + ": " +
                                    (saved ? size_of(file, saved->file) : "not saved"));
        }
        return text;
    }

    TensorFiles tensors_;
    std::uint64_t total_ = 0;  // bytes of files
};

}  // namespace

int inspect_launches(const std::vector<LaunchFile>& launches) {
    const Result<std::optional<BundleManifest>> manifest = manifest_of(launches.front());
    if (!manifest.ok()) {
        error_message(ErrorCode::unreadable_recording, "%s.", manifest.status().message().c_str());
        return kUnreadable;
    }
    Output output;
    if (manifest.value()) output.text = clean_text(manifest.value()->contains) + "\n";
    Inspection inspection(launches.front());
    for (const LaunchFile& file : launches) {
        output.text += inspection.text_of(file);
        if (!output.flush_if_large()) break;
    }
    output.flush();
    return output.exit_code() == 0 ? 0 : kUnreadable;
}

}  // namespace aoti_dbg::cli

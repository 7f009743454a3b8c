#include "model/torch_trace.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/mapped_file.hpp"
#include "model/package_files.hpp"
#include "model/package_json.hpp"
#include "model/reading_limits.hpp"
#include "model/text_lines.hpp"

namespace aoti_dbg {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostCompilations = 4096;
constexpr std::size_t kMostFrames = 4096;
constexpr std::size_t kLongestMetadata = std::size_t{1} << 20U;

enum class Artifact { other, wrapper, mappings, stacks, pre_grad, post_grad };

Artifact artifact_of(std::string_view name) {
    if (name == "inductor_output_code" || name == "inductor_aot_wrapper_code") return Artifact::wrapper;
    if (name == "inductor_provenance_tracking_node_mappings") return Artifact::mappings;
    if (name == "inductor_provenance_tracking_kernel_stack_traces") return Artifact::stacks;
    if (name == "before_pre_grad_graph") return Artifact::pre_grad;
    if (name == "inductor_post_grad_graph") return Artifact::post_grad;
    return Artifact::other;
}

/// Most entries are events of a profile, so their metadata is not parsed.
bool may_matter(std::string_view metadata) {
    if (metadata.size() > kLongestMetadata) return false;
    constexpr std::string_view kNames[] = {"inductor_", "before_pre_grad_graph"};
    return std::any_of(std::begin(kNames), std::end(kNames),
                       [&](std::string_view name) { return metadata.find(name) != std::string_view::npos; });
}

/// Returns the payload without the tabs in front of its lines.
std::string payload_of(std::string_view& rest, bool is_needed) {
    std::string payload;
    while (rest.starts_with('\t')) {
        const std::string_view line = next_line(rest);
        if (is_needed && payload.size() + line.size() <= kLargestFile)
            payload.append(line.substr(1)).append("\n");
    }
    return payload;
}

/// Puts the entries of one log together. Those of a compilation follow each other, but several compilations
/// may be in progress, which differ in process, frame or attempt.
class LogReader {
  public:
    explicit LogReader(std::vector<TracedCompilation>& compilations) : compilations_(compilations) {}

    void read(std::string_view log) {
        while (!log.empty()) {
            const std::string_view line = next_line(log);
            const std::size_t open = line.find("] {");
            const bool is_needed = open != std::string_view::npos && may_matter(line.substr(open + 2));
            const TraceEntry entry = is_needed ? read_trace_entry(line.substr(open + 2)) : TraceEntry();
            const Artifact artifact = artifact_of(entry.name);
            const std::string payload = payload_of(log, artifact != Artifact::other);
            if (artifact != Artifact::other) take(artifact, process_of(line.substr(0, open)), entry, payload);
        }
    }

  private:
    struct Frame {
        TracedGraph pre_grad;
        TracedGraph post_grad;
        std::optional<std::size_t> compilation;  // the latest
    };

    /// Returns "13058" of "V1127 22:07:05.002000 13058 torch/_inductor/x.py:12".
    static std::string_view process_of(std::string_view header) {
        const std::size_t end = header.rfind(' ');
        if (end == std::string_view::npos) return {};
        header = header.substr(0, end);
        const std::size_t begin = header.rfind(' ');
        return begin == std::string_view::npos ? std::string_view() : header.substr(begin + 1);
    }

    void take(Artifact artifact, std::string_view process, const TraceEntry& entry,
              const std::string& payload) {
        if (frames_.size() >= kMostFrames || compilations_.size() >= kMostCompilations) return;
        Frame& frame = frames_[std::string(process) + " " + entry.frame];
        switch (artifact) {
            case Artifact::pre_grad:
                frame.pre_grad = read_traced_graph(payload);
                break;
            case Artifact::post_grad:
                frame.post_grad = read_traced_graph(payload);
                break;
            case Artifact::wrapper:
                take_wrapper(entry, payload, frame);
                break;
            case Artifact::mappings:
                if (frame.compilation) read_node_mappings(payload, compilations_[*frame.compilation].origins);
                break;
            case Artifact::stacks:
                if (frame.compilation) read_kernel_stacks(payload, compilations_[*frame.compilation].origins);
                break;
            case Artifact::other:
                break;
        }
    }

    void take_wrapper(const TraceEntry& entry, const std::string& payload, Frame& frame) {
        TracedCompilation& made = compilations_.emplace_back();
        frame.compilation = compilations_.size() - 1;
        made.wrappers.push_back(print_of(payload));
        if (const std::string_view inside = embedded_wrapper(payload); !inside.empty())
            made.wrappers.push_back(print_of(inside));
        made.post_grad = std::exchange(frame.post_grad, {});
        made.pre_grad = frame.pre_grad;
        // The backward graph of a function has the same frame. Ahead of time, every model has its own graph.
        if (entry.frame.empty()) frame.pre_grad.clear();
    }

    std::vector<TracedCompilation>& compilations_;
    std::map<std::string, Frame, std::less<>> frames_;
};

/// Returns "aten.addmm" of `torch.ops.aten.addmm.default(...)`.
std::string aten_in(std::string_view call) {
    constexpr std::string_view kOps = " = torch.ops.";
    const std::size_t at = call.find(kOps);
    if (at == std::string_view::npos) return {};
    call.remove_prefix(at + kOps.size());
    call = call.substr(0, call.find('('));
    const std::size_t overload = call.rfind('.');
    if (overload == std::string_view::npos || call.size() > kMaxText) return {};
    return std::string(call.substr(0, overload));
}

bool is_in_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Returns the name in `addmm: "f32[8, 16]" = ...` or `sort = ...`, or an empty text.
std::string_view node_in(std::string_view line) {
    const std::size_t end =
        static_cast<std::size_t>(std::find_if_not(line.begin(), line.end(), is_in_name) - line.begin());
    const std::string_view rest = line.substr(end);
    const bool is_node = rest.starts_with(": \"") || rest.starts_with(" = ");
    return is_node ? line.substr(0, end) : std::string_view();
}

std::vector<std::string> logs_in(const std::string& path) {
    std::error_code failed;
    std::vector<std::string> logs;
    if (fs::is_regular_file(path, failed)) return {path};
    for (fs::directory_iterator entry(path, failed), end; !failed && entry != end; entry.increment(failed)) {
        const std::string name = entry->path().filename().string();
        std::error_code unknown;
        if (name.find("torch_trace") != std::string::npos && name.ends_with(".log") &&
            entry->is_regular_file(unknown))
            logs.push_back(entry->path().string());
    }
    std::sort(logs.begin(), logs.end());
    return logs;
}

}  // namespace

Result<TorchTrace> TorchTrace::read(const std::string& path) {
    const std::vector<std::string> logs = logs_in(path);
    if (logs.empty()) return Status::error("no TORCH_TRACE log (*torch_trace*.log) in " + path);
    TorchTrace trace;
    for (const std::string& log : logs) {
        const Result<MappedFile> file = MappedFile::open(log);
        if (!file.ok()) return file.status();
        trace.add(file.value().text());
    }
    if (trace.compilations_.empty()) return Status::error("no compilation is logged in " + path);
    return trace;
}

void TorchTrace::add(std::string_view log) {
    LogReader(compilations_).read(log);
}

std::vector<const TracedCompilation*> TorchTrace::of(const WrapperPrint& wrapper) const {
    std::vector<const TracedCompilation*> found;
    for (const TracedCompilation& one : compilations_)
        if (std::any_of(one.wrappers.begin(), one.wrappers.end(),
                        [&](const WrapperPrint& print) { return print.is_of_same_code(wrapper); }))
            found.push_back(&one);
    return found;
}

TracedGraph read_traced_graph(std::string_view graph) {
    TracedGraph nodes;
    PythonLine python;
    while (!graph.empty() && nodes.size() < kMaxPositions) {
        std::string_view line = next_line(graph);
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        if (line.starts_with('#')) {
            python = read_file_comment(line);
            continue;
        }
        const std::string_view name = node_in(line);
        if (name.empty() || name.size() > kMaxText) continue;
        TracedNode node{python, aten_in(line)};
        const auto [known, is_new] = nodes.try_emplace(std::string(name), node);
        // Subgraphs may use the name again, and then it says nothing.
        if (!is_new && !(known->second.python == node.python)) known->second.python = {};
        if (!is_new && known->second.aten != node.aten) known->second.aten.clear();
    }
    return nodes;
}

}  // namespace aoti_dbg

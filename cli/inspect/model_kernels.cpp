#include "cli/inspect/model_kernels.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "model/kernel_source.hpp"
#include "model/package.hpp"
#include "model/package_files.hpp"
#include "model/source_lexer.hpp"

namespace aoti_dbg::cli {
namespace {

void add_new(const std::vector<std::string>& from, std::vector<std::string>& to) {
    for (const std::string& text : from)
        if (std::ranges::find(to, text) == to.end()) to.push_back(text);
}

/// Returns "buf3 = torch..." lines of a guard's stack as one text.
std::string joined_lines(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines)
        text += (text.empty() ? "" : "\n") + line;
    return text;
}

void add_origin(const WrapperInfo& info, const CallSite& site, ModelKernel& kernel) {
    add_new(site.original_aten, kernel.aten);
    add_new(site.source_nodes, kernel.nodes);
    if (!site.python_stack.empty()) add_new({joined_lines(site.python_stack)}, kernel.stack_traces);
    auto origin = info.origins.find(site.provenance);
    if (origin == info.origins.end()) origin = info.origins.find(site.name);
    if (origin == info.origins.end()) return;
    add_new(origin->second.stack_traces, kernel.stack_traces);
    add_new(origin->second.pre_grad_nodes, kernel.pre_grad_nodes);
    if (kernel.nodes.empty()) add_new(origin->second.post_grad_nodes, kernel.nodes);
}

std::string stem_of(std::string_view path) {
    path.remove_prefix(path.rfind('/') + 1);
    return std::string(path.substr(0, path.rfind('.')));
}

/// Finds the kernels that a run calls, by name.
class Kernels {
  public:
    Kernels(const ModelFiles& files, const WrapperInfo& info) : info_(info) {
        for (const PackagedFile* const cubin : files.cubins)
            architectures_[stem_of(cubin->path)] = architecture_of(cubin->bytes);
    }

    void add(const CallSite& site) {
        ModelKernel& kernel = at(site.name, site.kind);
        ++kernel.calls;
        if (site.region != kNone) ++kernel.conditional;
        kernel.lines.push_back(site.line);
        add_origin(info_, site, kernel);
        if (site.kernel < info_.triton_kernels.size())
            set_image(info_.triton_kernels[site.kernel].cubin, kernel);
    }

    /// Adds a kernel whose calls are unknown. Does nothing if it has calls.
    void add_uncalled(const std::string& name, SiteKind kind, std::string_view cubin = {}) {
        set_image(std::string(cubin), at(name, kind));
    }

    [[nodiscard]] std::vector<ModelKernel> take() { return std::move(kernels_); }

  private:
    ModelKernel& at(const std::string& name, SiteKind kind) {
        const auto [found, is_new] = indices_.try_emplace(name, kernels_.size());
        if (is_new) {
            kernels_.emplace_back();
            kernels_.back().name = name;
            kernels_.back().kind = kind;
        }
        return kernels_[found->second];
    }

    void set_image(const std::string& cubin, ModelKernel& kernel) {
        const auto found = architectures_.find(cubin);
        if (found != architectures_.end()) kernel.architecture = found->second;
    }

    const WrapperInfo& info_;
    std::vector<ModelKernel> kernels_;
    std::map<std::string, std::size_t, std::less<>> indices_;
    std::map<std::string, std::string, std::less<>> architectures_;  // by cubin
};

/// True for an imported function that computes: not one that reads or wraps a tensor.
bool is_op_of_device(std::string_view function) {
    for (const std::string_view device : {"aoti_torch_cpu_", "aoti_torch_cuda_", "aoti_torch_mkldnn_"})
        if (function.starts_with(device)) return true;
    return false;
}

void add_from_library(const ModelLibrary& library, Kernels& kernels) {
    for (const std::string& kernel : library.cpp_kernels)
        kernels.add_uncalled(kernel, SiteKind::cpp);
    for (const std::string& function : library.imports)
        if (is_op_of_device(function)) kernels.add_uncalled(function, SiteKind::op);
    const auto add = [&](const char* function, SiteKind kind) {
        if (library.imports.count(function) != 0) kernels.add_uncalled(function, kind);
    };
    add("aoti_torch_proxy_executor_call_function", SiteKind::proxy);
    add("aoti_torch_call_dispatcher", SiteKind::dispatcher);
}

/// Removes the blanks that all lines start with. Keeps the number of lines, because reports refer to it.
std::string without_indent(std::string_view text) {
    std::size_t indent = std::string_view::npos;
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view line = text.substr(at, text.find('\n', at) - at);
        const std::size_t first = line.find_first_not_of(' ');
        if (first != std::string_view::npos) indent = std::min(indent, first);
        at += line.size() + 1;
    }
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view line = text.substr(at, text.find('\n', at) - at);
        result.append(line.substr(std::min(indent, line.size()))).append("\n");
        at += line.size() + 1;
    }
    return result;
}

/// Passes the name and the text of each `extern "C" void cpp_fused_relu_0(...) {...}` to `see`, until it
/// returns false.
template <typename See>
void each_definition(std::string_view source, const See& see) {
    SourceLexer lexer(source);
    std::size_t begin = 0;
    std::string_view word;  // the last token, if it can be the name of a kernel
    std::string_view name;  // of the head that was read
    std::size_t depth = 0;
    for (Token token = lexer.next(); token.kind != Token::Kind::end; token = lexer.next()) {
        const bool is_outside = depth == 0;
        if (is_outside && token.is_word("extern")) begin = lexer.begin();
        if (is_outside && (token.is(';') || token.is_word("extern"))) name = {};
        if (is_outside && token.is('(') && !word.empty()) name = word;
        word = token.kind == Token::Kind::word && token.text.starts_with("cpp_") ? token.text
                                                                                 : std::string_view();
        if (!name.empty() && token.is('{')) ++depth;
        if (is_outside || !token.is('}') || --depth != 0) continue;
        if (!see(name, source.substr(begin, lexer.end() - begin))) return;
        name = {};
    }
}

std::string_view find_definition(std::string_view source, std::string_view kernel) {
    std::string_view found;
    each_definition(source, [&](std::string_view name, std::string_view text) {
        if (name == kernel) found = text;
        return found.empty();
    });
    return found;
}

/// The kernels that have a source in the package.
class SourceNames {
  public:
    SourceNames(const WrapperTexts& texts, const WrapperInfo& info) {
        for (const TritonKernelInfo& kernel : info.triton_kernels)
            if (!kernel.source.empty()) triton_.insert(kernel.name);
        for (const KernelAssertions& kernel : find_assertions(texts.wrapper))
            triton_.insert(kernel.name);
        see(texts.wrapper);
        for (const std::string_view text : texts.kernel_sources)
            see(text);
    }

    [[nodiscard]] std::string language_of(const std::string& kernel) const {
        return triton_.count(kernel) != 0 ? "triton" : cpp_.count(kernel) != 0 ? "cpp" : "";
    }

  private:
    void see(std::string_view source) {
        each_definition(source, [this](std::string_view name, std::string_view) {
            cpp_.emplace(name);
            return true;
        });
    }

    std::set<std::string, std::less<>> triton_;
    std::set<std::string, std::less<>> cpp_;
};

}  // namespace

std::string_view text_of(const PackagedFile* file) {
    const std::string_view text = file == nullptr ? std::string_view() : file->text();
    return text.size() > kLargestFile ? std::string_view() : text;
}

WrapperTexts texts_of(const ModelFiles& files) {
    WrapperTexts texts;
    texts.wrapper = text_of(files.wrapper);
    texts.extern_nodes = text_of(files.extern_nodes);
    texts.kernel_information = text_of(files.kernel_information);
    std::size_t bytes = 0;  // limits the total
    for (const PackagedFile* const source : files.kernel_sources) {
        if (bytes > kLargestFile) break;
        texts.kernel_sources.push_back(text_of(source));
        bytes += texts.kernel_sources.back().size();
    }
    return texts;
}

bool is_custom_op(const ModelKernel& kernel) {
    if (kernel.kind != SiteKind::proxy && kernel.kind != SiteKind::dispatcher) return false;
    const bool is_torch = kernel.name.starts_with("aten::") || kernel.name.starts_with("prims::");
    return !is_torch && kernel.name.find("::") != std::string::npos;
}

const char* word_of(SiteKind kind) {
    constexpr std::array kWords = {"op",    "triton",     "user_triton", "cpp", "device_kernel",
                                   "proxy", "dispatcher", "copy"};
    return kWords[static_cast<std::size_t>(kind)];
}

KernelSource source_of_kernel(const WrapperTexts& texts, const WrapperInfo& info, std::string_view kernel) {
    std::string_view triton = find_kernel_source(texts.wrapper, kernel);
    for (const TritonKernelInfo& known : info.triton_kernels)
        if (triton.empty() && known.name == kernel) triton = known.source;
    KernelSource source{triton.empty() ? "" : "triton", without_indent(triton)};
    if (triton.empty()) {
        std::string_view cpp = find_definition(texts.wrapper, kernel);
        for (const std::string_view text : texts.kernel_sources)
            if (cpp.empty()) cpp = find_definition(text, kernel);
        source = {cpp.empty() ? "" : "cpp", std::string(cpp)};
    }
    while (source.text.ends_with(' ') || source.text.ends_with('\n'))
        source.text.pop_back();
    if (!source.text.empty()) source.text += '\n';
    return source;
}

std::vector<ModelKernel> kernels_of(const ModelFiles& files, const WrapperTexts& texts,
                                    const WrapperInfo& info, const InspectedModel& facts) {
    Kernels found(files, info);
    for (const CallSite& site : info.run.sites)
        if (site.kind != SiteKind::copy) found.add(site);
    // Releases before 2.7 launch them inline, which has no call site.
    PackageInfo package;
    read_triton_kernels(texts.wrapper, package);
    for (const TritonKernel& kernel : package.triton_kernels)
        found.add_uncalled(kernel.name, SiteKind::triton, kernel.cubin);
    if (!facts.has_wrapper && facts.library) add_from_library(*facts.library, found);
    if (!facts.has_wrapper)
        for (const PackagedFile* const cubin : files.cubins)
            for (const std::string& kernel : kernels_in(cubin->bytes))
                found.add_uncalled(kernel, SiteKind::triton, stem_of(cubin->path));
    std::vector<ModelKernel> kernels = found.take();
    const SourceNames sources(texts, info);
    for (ModelKernel& kernel : kernels)
        kernel.language = sources.language_of(kernel.name);
    return kernels;
}

}  // namespace aoti_dbg::cli

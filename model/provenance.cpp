#include "model/provenance.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "model/package_json.hpp"
#include "model/package_origins.hpp"
#include "model/python_stack.hpp"
#include "model/reading_limits.hpp"
#include "model/torch_trace.hpp"

namespace aoti_dbg {
namespace {

void add_once(std::string text, std::vector<std::string>& texts) {
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
}

/// Returns the only key of that name, or an empty text.
template <typename Keys, typename KeyOf>
std::string only_key(const Keys& keys, const NamedSite& site, const KeyOf& key_of) {
    std::string only;
    for (const auto& entry : keys) {
        const std::string& key = key_of(entry);
        if (!is_key_of(key, site.kernel, site.symbol) || key == only) continue;
        if (!only.empty()) return {};
        only = key;
    }
    return only;
}

/// Adds the stacks and the nodes.
void take(const KernelOrigin& from, SiteOrigin& origin) {
    origin.post_grad_nodes = from.post_grad_nodes;
    origin.pre_grad_nodes = from.pre_grad_nodes;
    origin.python_lines = own_lines_of(from.stack_traces);
    for (const std::string& stack : from.stack_traces) {
        for (std::size_t begin = 0; begin < stack.size() && origin.python_stack.size() < kMostStackLines;) {
            const std::size_t end = std::min(stack.find('\n', begin), stack.size());
            if (end != begin) origin.python_stack.push_back(stack.substr(begin, end - begin));
            begin = end + 1;
        }
    }
}

/// Returns the line of a node. A name in both graphs must have the same line in both.
const PythonLine* line_of(const std::string& name, const TracedCompilation& traced) {
    const auto before = traced.pre_grad.find(name);
    const auto after = traced.post_grad.find(name);
    const bool is_before = before != traced.pre_grad.end();
    if (is_before && after != traced.post_grad.end() && !(before->second.python == after->second.python))
        return nullptr;
    if (is_before) return &before->second.python;
    return after == traced.post_grad.end() ? nullptr : &after->second.python;
}

/// Adds what the printed graphs say of the nodes.
void add_graphs(const TracedCompilation& traced, SiteOrigin& origin) {
    if (origin.python_lines.empty())
        for (const std::string& node : origin.source_nodes)
            if (const PythonLine* line = line_of(node, traced); line != nullptr && !line->file.empty())
                add_once(text_of(*line), origin.python_lines);
    if (!origin.aten.empty()) return;
    for (const std::string& node : origin.post_grad_nodes)
        if (const auto found = traced.post_grad.find(node);
            found != traced.post_grad.end() && !found->second.aten.empty())
            add_once(found->second.aten, origin.aten);
}

/// Keeps what two compilations of the same wrapper agree on.
void agree(const SiteOrigin& other, SiteOrigin& origin) {
    const auto keep = [&](std::vector<std::string> SiteOrigin::*list) {
        if (origin.*list != other.*list) (origin.*list).clear();
    };
    keep(&SiteOrigin::aten);
    keep(&SiteOrigin::pre_grad_nodes);
    keep(&SiteOrigin::post_grad_nodes);
    keep(&SiteOrigin::python_stack);
    keep(&SiteOrigin::python_lines);
}

bool has_more(const SiteOrigin& origin) {
    return !origin.python_lines.empty() || !origin.post_grad_nodes.empty() || !origin.pre_grad_nodes.empty();
}

/// Fills in what is missing.
void complete(const SiteOrigin& from, SiteOrigin::From source, SiteOrigin& origin) {
    const SiteOrigin before = origin;
    const auto fill = [&](std::vector<std::string> SiteOrigin::*list) {
        if ((origin.*list).empty()) origin.*list = from.*list;
    };
    fill(&SiteOrigin::aten);
    fill(&SiteOrigin::pre_grad_nodes);
    fill(&SiteOrigin::post_grad_nodes);
    if (origin.python_lines.empty()) {
        origin.python_stack = from.python_stack;
        origin.python_lines = from.python_lines;
    }
    if (has_more(origin) && !has_more(before)) origin.from = source;
}

}  // namespace

std::string_view word_of(SiteOrigin::From from) {
    switch (from) {
        case SiteOrigin::From::wrapper:
            return "wrapper";
        case SiteOrigin::From::package:
            return "package";
        case SiteOrigin::From::trace:
            return "trace";
        case SiteOrigin::From::nothing:
            break;
    }
    return {};
}

Provenance::Provenance(std::string_view wrapper, std::string_view kernel_information, const TorchTrace* trace)
    : print_(print_of(wrapper)) {
    Keeper keeper;
    origins_ = read_kernel_information(kernel_information, keeper);
    // A file that lacks a handle of the wrapper belongs to another build.
    const bool is_its = std::all_of(print_.handles.begin(), print_.handles.end(), [&](const auto& handle) {
        return origins_.find(handle.key) != origins_.end();
    });
    if (!is_its || keeper.is_exhausted() || (print_.bytes != 0 && print_.handles.empty())) origins_.clear();
    if (trace != nullptr && print_.bytes != 0) compilations_ = trace->of(print_);
}

SiteOrigin Provenance::of(const NamedSite& site) const {
    SiteOrigin origin;
    origin.source_nodes = site.source_nodes;
    origin.aten = site.aten;
    origin.python_stack = site.python_stack;
    origin.python_lines = python_lines_of(site.python_stack);
    if (!site.source_nodes.empty() || !site.aten.empty() || !site.python_stack.empty())
        origin.from = SiteOrigin::From::wrapper;
    add_package(site, origin);
    add_trace(site, origin);
    return origin;
}

std::string Provenance::key_of(const NamedSite& site, const std::vector<ProvenanceHandle>& handles) const {
    if (site.line == 0)
        return only_key(
            handles, site, [](const auto& handle) -> const auto& { return handle.key; });
    const std::uint32_t line = print_.reduced(site.line);
    const auto below =
        std::upper_bound(handles.begin(), handles.end(), line,
                         [](std::uint32_t at, const auto& handle) { return at < handle.line; });
    if (below == handles.begin() || !is_key_of(std::prev(below)->key, site.kernel, site.symbol)) return {};
    return std::prev(below)->key;
}

void Provenance::add_package(const NamedSite& site, SiteOrigin& origin) const {
    const std::string key =
        print_.bytes != 0 ? key_of(site, print_.handles)
                          : only_key(
                                origins_, site, [](const auto& entry) -> const auto& { return entry.first; });
    const auto found = origins_.find(key);
    if (key.empty() || found == origins_.end()) return;
    SiteOrigin packaged;
    take(found->second, packaged);
    complete(packaged, SiteOrigin::From::package, origin);
}

void Provenance::add_trace(const NamedSite& site, SiteOrigin& origin) const {
    std::optional<SiteOrigin> agreed;
    for (const TracedCompilation* traced : compilations_) {
        SiteOrigin one;
        one.source_nodes = site.source_nodes;
        one.aten = site.aten;
        for (const WrapperPrint& wrapper : traced->wrappers) {
            if (!wrapper.is_of_same_code(print_)) continue;
            const auto found = traced->origins.find(key_of(site, wrapper.handles));
            if (found != traced->origins.end()) take(found->second, one);
        }
        add_graphs(*traced, one);
        if (agreed)
            agree(one, *agreed);
        else
            agreed = std::move(one);
    }
    if (agreed) complete(*agreed, SiteOrigin::From::trace, origin);
}

}  // namespace aoti_dbg

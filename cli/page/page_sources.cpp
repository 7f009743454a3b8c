// See page_sources.hpp.
#include "cli/page/page_sources.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "model/kernel_source.hpp"
#include "triage/gather/kept_origins.hpp"
#include "triage/gather/kept_packages.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kMostWrapper = std::size_t{64} << 20U;
constexpr std::size_t kMostExcerpts = std::size_t{350} << 10U;  // of all wrappers
constexpr std::size_t kMostKernels = std::size_t{250} << 10U;   // of all kernels
constexpr std::size_t kMostKernel = std::size_t{16} << 10U;
constexpr std::size_t kLongestLine = 300;
constexpr std::uint32_t kAround = 6;  // lines before and after a call

/// Lines of a text, by number.
class Lines {
  public:
    explicit Lines(std::string_view text) {
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            lines_.push_back(text.substr(0, end));
            text.remove_prefix(std::min(end + 1, text.size()));
        }
    }
    [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(lines_.size()); }
    [[nodiscard]] std::string text(std::uint32_t first, std::uint32_t last) const {
        std::string text;
        for (std::uint32_t line = first; line <= std::min(last, count()); ++line)
            text.append(lines_[line - 1].substr(0, kLongestLine)).append("\n");
        return text;
    }

  private:
    std::vector<std::string_view> lines_;
};

class SourceReader {
  public:
    explicit SourceReader(Page& page) : page_(page) {}

    /// `wrapper` is the model's only wrapper source.
    void read(std::uint32_t model, const std::string& wrapper) {
        const auto known = texts_.find(wrapper);
        if (known == texts_.end() && texts_.size() >= kMostTexts) texts_.clear();
        const std::string& text = known != texts_.end()
                                      ? known->second
                                      : texts_[wrapper] = small_file(wrapper, kMostWrapper).value_or("");
        if (text.empty()) return;
        take_excerpts(model, text, wrapper.substr(wrapper.rfind('/') + 1));
        take_kernels(model, text);
    }

    void note_rest() const {
        if (is_cut_) page_.left_out.emplace_back("some of the source: evidence/ has it");
    }

  private:
    static constexpr std::size_t kMostTexts = 8;

    void take_excerpts(std::uint32_t model, const std::string& text, const std::string& name) {
        const Lines lines(text);
        std::map<std::uint32_t, std::vector<std::uint32_t>> sites;  // by line
        for (std::uint32_t site = 0; site < page_.rows.sites.size(); ++site) {
            const PageSite& one = page_.rows.sites[site];
            if (one.model == model && one.line != 0 && one.source.empty() && one.line <= lines.count())
                sites[one.line].push_back(site);
        }
        std::uint32_t last = 0;
        for (auto entry = sites.begin(); entry != sites.end(); ++entry) {
            const auto& [line, of_line] = *entry;
            if (last < line) {
                std::uint32_t first = line > kAround ? line - kAround : 1;
                first = std::max(first, last + 1);
                last = end_of(entry, sites.end(), lines.count());
                if (!add({name + " of " + page_.rows.models[model].name, first, lines.text(first, last)},
                         excerpts_, kMostExcerpts))
                    return;
            }
            for (const std::uint32_t site : of_line)
                page_.source_of_site[site] = static_cast<std::uint32_t>(page_.sources.size() - 1);
        }
    }

    /// Returns the last line of an excerpt, which goes on while calls are near each other.
    template <typename Entry>
    static std::uint32_t end_of(Entry entry, Entry end, std::uint32_t count) {
        std::uint32_t last = entry->first;
        for (; entry != end && entry->first <= last + 2 * kAround; ++entry)
            last = entry->first;
        return std::min(last + kAround, count);
    }

    void take_kernels(std::uint32_t model, std::string_view text) {
        std::set<std::uint32_t> requested;
        for (const PageSite& site : page_.rows.sites)
            if (site.model == model && page_.rows.kernels[site.kernel].kind == "triton" &&
                page_.source_of_kernel[site.kernel] == kNoIndex32)
                requested.insert(site.kernel);
        for (const std::uint32_t kernel : requested) {
            const std::string& name = page_.rows.kernels[kernel].name;
            const std::string_view source = find_kernel_source(text, name);
            if (source.empty()) continue;
            if (!add({name, 1, std::string(source.substr(0, kMostKernel))}, kernels_, kMostKernels)) return;
            page_.source_of_kernel[kernel] = static_cast<std::uint32_t>(page_.sources.size() - 1);
        }
    }

    bool add(PageSource source, std::size_t& used, std::size_t most) {
        if (used + source.text.size() > most) {
            is_cut_ = true;
            return false;
        }
        used += source.text.size();
        page_.sources.push_back(std::move(source));
        return true;
    }

    Page& page_;
    std::map<std::string, std::string> texts_;
    std::size_t excerpts_ = 0;
    std::size_t kernels_ = 0;
    bool is_cut_ = false;
};

bool is_inside(const RecordedFolder& folder, const KeptPackage& package, const std::string& wrapper) {
    const std::string kernels = package.folder + "/kernel_information.json";
    std::error_code failed;
    const bool has_kernels = std::filesystem::exists(std::filesystem::symlink_status(kernels, failed));
    return folder.has(wrapper) && (!has_kernels || folder.has(kernels));
}

void add_origins(const KeptPackages& packages, std::uint32_t model, KeptOrigins& origins, Page& page) {
    for (PageSite& site : page.rows.sites) {
        if (site.model != model) continue;
        SiteFacts facts;
        facts.kernel = page.rows.kernels[site.kernel].name;
        facts.line = site.line;
        facts.source = site.source;
        facts.source_nodes = site.source_nodes;
        facts.original_aten = site.aten;
        facts.python_stack = site.python;
        const SiteOrigin& origin = origins.of(packages, page.rows.models[model].number, facts);
        if (site.source_nodes.empty()) site.source_nodes = cut_list(origin.source_nodes);
        if (site.aten.empty()) site.aten = cut_list(origin.aten);
        site.nodes = cut_list(origin.post_grad_nodes);
        if (!origin.python_lines.empty()) site.python = cut_list(origin.python_lines);
    }
}

}  // namespace

void read_sources(const RecordedFolder& folder, const std::vector<PageProcessFiles>& processes,
                  const TorchTrace* trace, Page& page) {
    page.source_of_site.assign(page.rows.sites.size(), kNoIndex32);
    page.source_of_kernel.assign(page.rows.kernels.size(), kNoIndex32);
    page.packages.resize(page.rows.models.size());
    page.torch.resize(page.rows.models.size());
    SourceReader sources(page);
    KeptOrigins origins(trace);
    std::uint32_t last = kNoIndex32;
    KeptPackages packages{std::string()};
    for (std::uint32_t model = 0; model < page.rows.models.size(); ++model) {
        const PageModel& one = page.rows.models[model];
        const RecordedProcess& process = processes[one.process].recorded;
        if (one.process != last)
            packages = KeptPackages(process.folder, {process.pid, process.start_unix_ns});
        last = one.process;
        const std::vector<const KeptPackage*> candidates = packages.of(one.number);
        if (candidates.size() != 1) continue;
        page.packages[model] = candidates.front()->name;
        page.torch[model] = candidates.front()->torch;
        const std::vector<std::string> wrappers = candidates.front()->wrappers();
        if (wrappers.size() != 1 || !is_inside(folder, *candidates.front(), wrappers.front())) continue;
        add_origins(packages, model, origins, page);
        if (!page.is_confidential) sources.read(model, wrappers.front());
    }
    sources.note_rest();
}

}  // namespace aoti_dbg::cli

// See kept_packages.hpp.
#include "triage/gather/kept_packages.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "base/mapped_file.hpp"
#include "serializer/json_line.hpp"
#include "triage/gather/folder_entries.hpp"

namespace aoti_dbg {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestLine = std::size_t{64} << 10U;

/// Reads a number of that type into `number`. Returns false if it is not one.
template <typename Number>
bool read(const JsonLine::Value& value, Number& number) {
    const std::string_view text = value.text();
    const auto done = std::from_chars(text.data(), text.data() + text.size(), number);
    return value.is(JsonLine::Kind::number) && done.ec == std::errc() &&
           done.ptr == text.data() + text.size();
}

/// Reads one line of models.jsonl.
void take_model(std::string_view line, const ProcessOfModels& process, JsonLine& json, KeptPackage& package) {
    if (line.size() > kLongestLine || !json.parse(line)) return;
    ProcessOfModels whose;
    KeptPackage::Model model;
    const bool is_whole = read(json.root().member("pid"), whose.pid) &&
                          read(json.root().member("start_ns"), whose.start_unix_ns) &&
                          read(json.root().member("model"), model.number);
    const bool is_its = whose.pid == process.pid && whose.start_unix_ns == process.start_unix_ns;
    if (!is_whole || !is_its) return;
    model.library = json.root().member("path").text();
    model.source = json.root().member("source").text();
    package.models.push_back(std::move(model));
}

void read_models(const ProcessOfModels& process, KeptPackage& package) {
    const Result<MappedFile> file = MappedFile::open(package.folder + "/models.jsonl");
    if (!file.ok()) return;
    JsonLine json;
    // An incomplete line means that its process was killed while writing.
    std::string_view rest = file.value().text();
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
        take_model(rest.substr(0, end), process, json, package);
        rest.remove_prefix(end + 1);
    }
    // A model may be recorded twice if it loads during the first call.
    const auto is_less = [](const auto& a, const auto& b) { return a.number < b.number; };
    const auto is_same = [](const auto& a, const auto& b) { return a.number == b.number; };
    std::vector<KeptPackage::Model>& models = package.models;
    std::stable_sort(models.begin(), models.end(), is_less);
    models.erase(std::unique(models.begin(), models.end(), is_same), models.end());
}

/// PyTorch 2.6 names it X.cpp, later releases X.wrapper.cpp. That of torch.compile is X.py.
bool is_wrapper(std::string_view path) {
    return path.ends_with(".py") || (path.ends_with(".cpp") && !path.ends_with(".kernel.cpp"));
}

bool is_version(std::string_view text) {
    return !text.empty() && text.size() < 16 &&
           text.find_first_not_of("0123456789.") == std::string_view::npos;
}

void read_library(KeptPackage& package) {
    const Result<MappedFile> file = MappedFile::open(package.folder + "/library.json");
    JsonLine json;
    if (!file.ok()) return;
    std::string_view text = file.value().text();
    while (!text.empty() && text.back() == '\n')
        text.remove_suffix(1);
    if (text.size() > kLongestLine || !json.parse(text)) return;
    package.library = json.root().member("path").text();
    const JsonLine::Value torch = json.root().member("torch");
    if (torch.is(JsonLine::Kind::string) && is_version(torch.text())) package.torch = torch.text();
}

}  // namespace

const KeptPackage::Model* KeptPackage::find(std::uint32_t model) const {
    const auto found =
        std::lower_bound(models.begin(), models.end(), model,
                         [](const Model& one, std::uint32_t number) { return one.number < number; });
    return found == models.end() || found->number != model ? nullptr : &*found;
}

std::vector<std::string> KeptPackage::wrappers() const {
    std::vector<std::string> paths;
    for (const fs::directory_entry& file : entries_of(folder)) {
        std::string path = file.path().string();
        if (is_wrapper(path)) paths.push_back(std::move(path));
    }
    return paths;
}

KeptPackages::KeptPackages(const std::string& folder, const ProcessOfModels& process) {
    for (const fs::directory_entry& entry : entries_of(fs::path(folder) / "evidence")) {
        KeptPackage package{entry.path().filename().string(), entry.path().string(), {}, {}, {}};
        if (package.name.front() == '.') continue;  // incomplete
        read_library(package);
        read_models(process, package);
        all_.push_back(std::move(package));
    }
    std::sort(all_.begin(), all_.end(),
              [](const KeptPackage& a, const KeptPackage& b) { return a.name < b.name; });
}

std::vector<const KeptPackage*> KeptPackages::of(std::uint32_t model) const {
    std::vector<const KeptPackage*> found;
    const bool knows = knows_models();
    for (const KeptPackage& package : all_) {
        const bool is_its = model == ~0U ? !package.models.empty() : package.find(model) != nullptr;
        if (!knows || is_its) found.push_back(&package);
    }
    return found;
}

bool KeptPackages::knows_models() const {
    return std::any_of(all_.begin(), all_.end(),
                       [](const KeptPackage& package) { return !package.models.empty(); });
}

std::vector<std::string> KeptPackages::torch_versions() const {
    std::vector<std::string> versions;
    for (const KeptPackage& package : all_)
        if (!package.torch.empty()) versions.push_back(package.torch);
    std::sort(versions.begin(), versions.end());
    versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
    return versions;
}

std::vector<std::string> names_of(const std::vector<const KeptPackage*>& packages) {
    std::vector<std::string> names;
    names.reserve(packages.size());
    for (const KeptPackage* package : packages)
        names.push_back(package->name);
    return names;
}

}  // namespace aoti_dbg

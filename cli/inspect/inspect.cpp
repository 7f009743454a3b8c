#include "cli/inspect/inspect.hpp"

#include <algorithm>

#include "base/clean_text.hpp"
#include "base/message.hpp"
#include "base/words.hpp"
#include "cli/inspect/inspected_model.hpp"
#include "cli/inspect/model_kernels.hpp"
#include "cli/print.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kMostNames = 10;

int fail(const std::string& path, const std::string& why) {
    error_message(ErrorCode::unreadable_recording, "cannot inspect %s: %s.", clean_text(path).c_str(),
                  clean_text(why).c_str());
    return 1;
}

/// Returns the models to describe: all, or that of the given library or source.
std::vector<ModelFiles> chosen_models(const OpenedPackage& package) {
    std::vector<ModelFiles> models = find_models(package.files());
    // Other sources of a folder can have the words of a wrapper.
    if (package.kind() == OpenedPackage::Kind::folder)
        std::erase_if(models, [](const ModelFiles& model) {
            if (model.library != nullptr) return false;
            const InspectedModel inspected = inspect_model(model);
            return inspected.inputs.empty() && inspected.kernels.empty();
        });
    if (package.only().empty()) return models;
    std::erase_if(models, [&](const ModelFiles& model) {
        const auto is_it = [&](const PackagedFile* file) {
            return file != nullptr && file->path == package.only();
        };
        return !is_it(model.library) && !is_it(model.wrapper);
    });
    return models;
}

const char* why_empty(OpenedPackage::Kind kind) {
    switch (kind) {
        case OpenedPackage::Kind::package:
            return "the archive has no AOTInductor model. Pass a package that "
                   "torch._inductor.aoti_compile_and_package() wrote";
        case OpenedPackage::Kind::folder:
            return "the folder has no AOTInductor model. Pass the folder of an unpacked package";
        case OpenedPackage::Kind::library:
            return "the library has no AOTInductor model. Pass the .so of a model";
        default:
            return "the source is not the wrapper of an AOTInductor model";
    }
}

int print_kernel(const std::vector<ModelFiles>& models, const InspectRequest& request) {
    std::vector<std::string> names;
    for (const ModelFiles& model : models) {
        const WrapperTexts texts = texts_of(model);
        const KernelSource source = source_of_kernel(texts, read_call_sites(texts), request.kernel);
        if (!source.text.empty()) return print(source.text);
        for (const ModelKernel& kernel : inspect_model(model).kernels)
            names.push_back(kernel.name);
    }
    const bool is_known = std::ranges::find(names, request.kernel) != names.end();
    const std::size_t more = names.size() - std::min(names.size(), kMostNames);
    names.resize(names.size() - more);
    std::string why = "the package does not contain it. Ops are part of PyTorch.";
    if (!is_known)
        why = "the model has no such kernel. It has: " + joined(names, ", ") + (more == 0 ? "." : ", ...");
    error_message(ErrorCode::no_match, "cannot print the source of kernel %s: %s",
                  clean_text(request.kernel).c_str(), clean_text(why).c_str());
    return 1;
}

}  // namespace

int inspect(const InspectRequest& request) {
    const Result<OpenedPackage> package = OpenedPackage::open(request.path);
    if (!package.ok()) return fail(request.path, package.status().message());
    const std::vector<ModelFiles> models = chosen_models(package.value());
    if (models.empty()) return fail(request.path, why_empty(package.value().kind()));
    if (!request.kernel.empty()) return print_kernel(models, request);
    std::vector<InspectedModel> facts;
    facts.reserve(models.size());
    for (const ModelFiles& model : models)
        facts.push_back(inspect_model(model));
    return print(request.is_json ? inspect_json(facts, request.path)
                                 : inspect_text(facts, request.path, request.is_all));
}

}  // namespace aoti_dbg::cli

#include "cli/inspect/inspect.hpp"

#include <algorithm>
#include <utility>

#include "base/clean_text.hpp"
#include "base/message.hpp"
#include "base/words.hpp"
#include "cli/inspect/inspected_model.hpp"
#include "cli/inspect/model_kernels.hpp"
#include "cli/print.hpp"
#include "cli/usage_errors.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kMostNames = 10;

int fail(const std::string& path, const std::string& why) {
    const std::string text = clean_text(why);
    if (why.starts_with("cannot "))  // which names the file
        error_message(ErrorCode::unreadable_recording, "%s.", text.c_str());
    else
        error_message(ErrorCode::unreadable_recording, "cannot inspect %s: %s.", clean_text(path).c_str(),
                      text.c_str());
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

/// Says why no model has the source of the kernel.
int refuse_kernel(const std::vector<ModelKernel>& kernels, const std::string& kernel) {
    const auto found = std::ranges::find(kernels, kernel, &ModelKernel::name);
    const bool is_known = found != kernels.end();
    const bool is_generated =
        is_known && (found->kind == SiteKind::cpp || found->kind == SiteKind::triton ||
                     found->kind == SiteKind::user_triton || found->kind == SiteKind::device_kernel);
    std::string why = "the package does not contain it.";
    // A run prints some ops as at::_ops::cumsum::call.
    if (kernel.starts_with("at::_ops::") || (is_known && !is_generated)) {
        why += " Ops are part of PyTorch.";
    } else if (!is_known) {
        std::vector<std::string> names;
        for (const ModelKernel& one : kernels)
            if (std::ranges::find(names, one.name) == names.end()) names.push_back(one.name);
        why = "the model has no such kernel." + did_you_mean(kernel, names);
        const std::size_t more = names.size() - std::min(names.size(), kMostNames);
        names.resize(names.size() - more);
        if (!names.empty()) why += " It has: " + joined(names, ", ") + (more == 0 ? "." : ", ...");
    }
    error_message(ErrorCode::no_match, "cannot print the source of kernel %s: %s", clean_text(kernel).c_str(),
                  clean_text(why).c_str());
    return 1;
}

int print_kernel(const std::vector<ModelFiles>& models, const InspectRequest& request) {
    std::vector<ModelKernel> kernels;
    const ModelFiles* first = nullptr;
    std::string text;
    for (const ModelFiles& model : models) {
        const WrapperTexts texts = texts_of(model);
        const KernelSource source = source_of_kernel(texts, read_call_sites(texts), request.kernel);
        if (first == nullptr && !source.text.empty()) {
            first = &model;
            text = source.text;
        } else if (first != nullptr && !source.text.empty() && source.text != text) {
            message(Severity::warn,
                    "several models have a kernel %s. This is the source of %s. For that of %s, unpack the "
                    "package and pass the model's .so.",
                    clean_text(request.kernel).c_str(), clean_text(first->name).c_str(),
                    clean_text(model.name).c_str());
            break;
        }
        if (first == nullptr)
            for (ModelKernel& kernel : inspect_model(model).kernels)
                kernels.push_back(std::move(kernel));
    }
    return first == nullptr ? refuse_kernel(kernels, request.kernel) : print(text);
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

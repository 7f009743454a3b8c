// Assigns the files of a package to its models. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/inspect/opened_package.hpp"

namespace aoti_dbg::cli {

/// The files of one model. Null or empty if it has none.
struct ModelFiles {
    std::string name;    // of its folder: model
    std::string folder;  // inside the package, with a slash at the end
    const PackagedFile* library = nullptr;
    const PackagedFile* wrapper = nullptr;
    const PackagedFile* extern_nodes = nullptr;
    const PackagedFile* metadata = nullptr;
    const PackagedFile* kernel_information = nullptr;
    const PackagedFile* weights = nullptr;  // where the package has those that are not in the library
    std::vector<const PackagedFile*> kernel_sources;
    std::vector<const PackagedFile*> cubins;
};

std::vector<ModelFiles> find_models(std::span<const PackagedFile> files);

}  // namespace aoti_dbg::cli

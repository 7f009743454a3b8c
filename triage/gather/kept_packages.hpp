// The packages kept of a process's models (docs/reference/evidence.md), and the models that each belongs to.
// The files may contain anything; what cannot be read is skipped. It must not write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace aoti_dbg {

/// Identifies the process that used the models, as its flight ring does.
struct ProcessOfModels {
    std::uint32_t pid = 0;
    std::uint64_t start_unix_ns = 0;
};

struct KeptPackage {
    struct Model {
        std::uint32_t number = 0;
        std::string library;  // the file it was loaded from
        std::string
            source;  // that recorded lines refer to; empty: the package has its source, or none is known
    };
    std::string name;  // the model's name and hash
    std::string folder;
    std::string library;        // the file its first model was loaded from; empty: unknown
    std::string torch;          // version of the libtorch that it calls; empty: unknown
    std::vector<Model> models;  // models of that process, by number

    [[nodiscard]] const Model* find(std::uint32_t model) const;
    /// Returns the paths of its wrapper sources.
    [[nodiscard]] std::vector<std::string> wrappers() const;
};

class KeptPackages {
  public:
    /// Reads the packages in the output folder `folder`.
    explicit KeptPackages(const std::string& folder, const ProcessOfModels& process = {});

    [[nodiscard]] const std::vector<KeptPackage>& all() const { return all_; }

    /// Returns the packages that may have that model's source. This is the model's package if the process
    /// recorded it, and none if it recorded only others, as for a linked model. It is all packages if the
    /// process recorded none, as older libraries do. With ~0U, an unknown model, it is all packages of the
    /// process.
    [[nodiscard]] std::vector<const KeptPackage*> of(std::uint32_t model) const;

    /// True if the process recorded which package belongs to which model.
    [[nodiscard]] bool knows_models() const;

    /// Returns the versions of libtorch that the models called, sorted and unique. Torch before 2.9 has none.
    [[nodiscard]] std::vector<std::string> torch_versions() const;

  private:
    std::vector<KeptPackage> all_;
};

/// Returns the names of `packages`.
std::vector<std::string> names_of(const std::vector<const KeptPackage*>& packages);

}  // namespace aoti_dbg

// The packages that were kept of a process's models (docs/reference/evidence.md), and which is which model's.
// Anything may stand in those files; what cannot be read is passed over. Reads only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace aoti_dbg {

/// Whose models: as its flight ring says.
struct ProcessOfModels {
    std::uint32_t pid = 0;
    std::uint64_t start_unix_ns = 0;
};

struct KeptPackage {
    struct Model {
        std::uint32_t number = 0;
        std::string library;  // where it was loaded from
    };
    std::string name;  // of the model, and the hash
    std::string folder;
    std::string library;        // where the first of its models was loaded from; empty: not known
    std::string torch;          // the version of the libtorch that it calls; empty: not known
    std::vector<Model> models;  // of that process, by number

    [[nodiscard]] const Model* find(std::uint32_t model) const;
    /// The wrapper sources in it.
    [[nodiscard]] std::vector<std::string> wrappers() const;
};

class KeptPackages {
  public:
    /// Those in the output folder `folder`.
    explicit KeptPackages(const std::string& folder, const ProcessOfModels& process = {});

    [[nodiscard]] const std::vector<KeptPackage>& all() const { return all_; }

    /// Where the source of that model may be: its package alone where the process has noted that, none where
    /// it has noted others only, as of a model that was linked. Where nothing is noted, as by older
    /// libraries, all; with ~0U, where the model is not known, all of the process.
    [[nodiscard]] std::vector<const KeptPackage*> of(std::uint32_t model) const;

    /// Whether the process has noted which package is whose.
    [[nodiscard]] bool knows_models() const;

    /// The versions of the libtorch that the models called, each once, in order; none of a torch before 2.9.
    [[nodiscard]] std::vector<std::string> torch_versions() const;

  private:
    std::vector<KeptPackage> all_;
};

/// Of `packages` by their names.
std::vector<std::string> names_of(const std::vector<const KeptPackage*>& packages);

}  // namespace aoti_dbg

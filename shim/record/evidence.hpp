// Keeps the files of a model's package in OUT/evidence/<model>-<hash>/, because the loader deletes the
// package when it unloads the model. It links sources, metadata and kernel images, or copies them if it
// cannot link. It describes the model's library in library.json (docs/reference/evidence.md) and keeps no
// weights. The hash covers the contents, so runners of one package share a folder. models.jsonl lists their
// models and processes. Must not change the package's own files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "shim/runtime/shim_api.hpp"

namespace aoti_dbg {

struct KeptEvidence {
    std::string folder;          // empty: the package is gone, and there was nothing to keep
    std::uint64_t bytes = 0;     // of files; 0 if the folder already existed
    std::uint64_t left_out = 0;  // files that are too large or not regular
};

/// The folder gets its name only when it is complete. An existing folder stays as it is, except for `torch`,
/// the libtorch that the model calls now. `sites` are the call sites of a Python wrapper, which its source
/// does not say (model/compiled_wrapper.hpp).
///
/// `out` is the output folder and must exist. Call it from any thread, without a lock.
Result<KeptEvidence> keep_evidence(const std::string& library, const std::string& out,
                                   std::uint64_t most_bytes, const TorchLibrary& torch = {},
                                   std::string_view sites = {});

/// A model of a process, as the flight recorder ring of that process numbers it.
struct ModelOfPackage {
    std::uint32_t pid = 0;
    std::uint64_t start_unix_ns = 0;  // of the ring
    std::uint16_t model = 0;
    std::string library;  // the path
    std::string source;   // the wrapper source as the line table spells it, if it is not kept
};

/// Adds the model to the list in its package's `folder`. It writes the line with one write, so processes can
/// share the file. Call it from any thread, without a lock.
Status note_model(const ModelOfPackage& model, const std::string& folder);

}  // namespace aoti_dbg

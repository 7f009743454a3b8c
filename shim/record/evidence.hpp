// What a model's package says, kept beside the records of it: OUT/evidence/<model>-<hash>/, because the
// loader deletes the package when the model goes. Sources, metadata and kernel images are linked, or copied
// where that cannot be; of the model's library there is a description, library.json
// (docs/reference/evidence.md), and no weights. The hash is of the contents, so runners of one package share
// a folder, and models.jsonl in it says which models of which processes they are. Must not change the
// package's own files.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "shim/runtime/shim_api.hpp"

namespace aoti_dbg {

struct KeptEvidence {
    std::string folder;          // empty: the package is gone, and there was nothing to keep
    std::uint64_t bytes = 0;     // of files; 0 where the folder was there already
    std::uint64_t left_out = 0;  // files, for their size or because they are no regular ones
};

/// The folder appears under its name when it is whole; one that is there already is left as it is, but for
/// `torch`, the libtorch that the model calls now. `out` is the folder for everything, which is there. Any
/// thread, no lock held.
Result<KeptEvidence> keep_evidence(const std::string& library, const std::string& out,
                                   std::uint64_t most_bytes, const TorchLibrary& torch = {});

/// A model of a process, as that one's flight ring has it.
struct ModelOfPackage {
    std::uint32_t pid = 0;
    std::uint64_t start_unix_ns = 0;  // of the ring
    std::uint16_t model = 0;
    std::string library;  // its path
};

/// Adds the model to those whose package `folder` has: a line in one write, so that processes may share it.
/// Any thread, no lock held.
Status note_model(const ModelOfPackage& model, const std::string& folder);

}  // namespace aoti_dbg

// Keeps the package files of a model beside the recording (record/evidence), so that reports can show
// sources.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shim/record/evidence.hpp"

namespace aoti_dbg {

struct ModelToKeep {
    std::uint16_t number;
    const std::string& path;
    const TorchLibrary& torch;
    const std::string& source;    // that the lines of its calls refer to; empty: none
    std::string_view sites = {};  // of a Python wrapper (record/evidence)
};

/// Does nothing without a session or an output folder. Writes files and must not be called with a lock.
void keep_model_evidence(const ModelToKeep& model);

}  // namespace aoti_dbg

// The kernels and ops that a run calls, with their origin, and their sources. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/inspect/inspected_model.hpp"
#include "cli/inspect/model_files.hpp"
#include "model/call_sites.hpp"

namespace aoti_dbg::cli {

/// Returns the kernels in the order of their first call. Without the wrapper source, they are those that the
/// library defines or imports, by name.
std::vector<ModelKernel> kernels_of(const ModelFiles& files, const WrapperTexts& texts,
                                    const WrapperInfo& info, const InspectedModel& facts);

struct KernelSource {
    std::string language;  // triton or cpp; empty if the package has no source
    std::string text;      // ends with a newline
};

/// Returns the source of a Triton kernel in Python, or of a cpp_* kernel in C++.
KernelSource source_of_kernel(const WrapperTexts& texts, const WrapperInfo& info, std::string_view kernel);

/// Returns the text of a file, and an empty one of a file that is absent or too large.
std::string_view text_of(const PackagedFile* file);

/// Returns the texts of the model's files. Ignores files that are too large.
WrapperTexts texts_of(const ModelFiles& files);

/// True for an op that PyTorch does not define itself.
bool is_custom_op(const ModelKernel& kernel);

/// Returns the word for a kind of call: op, triton, user_triton, cpp, device_kernel, proxy, dispatcher or
/// copy.
const char* word_of(SiteKind kind);

}  // namespace aoti_dbg::cli

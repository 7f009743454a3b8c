// The models of this process: the library of each model, the contents of its package, and the binding of its
// import slots.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace aoti_dbg {

struct ModelCode;
struct Name;
class Parts;

/// Handles a lookup that found a container function at `found`. The model is new or already known. Returns
/// what dlsym gives its caller: a stub, or `found`.
void* container_function_found(const char* name, void* found);

/// Adds the library that contains `function` as a model, unless it is known. Returns its number, or kNoModel.
/// `name` is what the program looked up.
std::uint16_t add_model_of(const void* function, const char* name);

/// Adds a model that no library contains, such as a Python wrapper. `parts` are those of the features.
/// Returns kNoModel if there is no number left.
std::uint16_t add_described_model(const std::string& path, std::unique_ptr<Parts> parts);

/// Searches the loaded objects for models that the program is linked with. It is cheap if nothing was loaded
/// since the last search.
void find_linked_models();

/// Returns the model whose code contains `address`, or kNoModel.
std::uint16_t model_at(const void* address);

/// Returns where a model's code is. `bytes` is 0 if it has none. Takes no lock.
ModelCode code_of_model(std::uint16_t model);

/// Returns the path of the model's file, or "" if the model is unloaded.
std::string model_path(std::uint16_t model);

/// Returns the op for an index of the proxy executor.
const Name* proxy_op_name(std::uint16_t model, std::uint64_t index);

/// Returns PyTorch's name for a kernel that a model launches. `cubin` is the file name of its image without
/// folder and extension, or "" if there is no file. `function` is the name in the image.
const Name* launched_kernel_name(std::uint16_t model, std::string_view cubin, std::string_view function);

/// Returns what the features keep for a model, or null if the number is unknown. It is never freed. Takes no
/// lock.
const Parts* model_parts(std::uint16_t model);

/// Keeps the package files of all loaded models (record/evidence), unless an option disables it. Runs at the
/// first recorded call, and for later models when they load. Writes files and holds no lock.
void keep_evidence_of_models();

struct ModelCounts {
    std::uint64_t seen = 0;
    std::uint64_t unbound = 0;  // their functions that are not intercepted
};
ModelCounts count_models();

}  // namespace aoti_dbg

// The models of this process: which library each is, what its package says, and the binding of its import
// slots.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aoti_dbg {

class MeasuredModel;
struct Name;

/// A function of a model's container was found at `found`: the model arrives, or is known. Returns what the
/// caller of dlsym is handed: a stub, or `found` itself.
void* container_function_found(const char* name, void* found);

/// Looks through the loaded objects for models that the program was linked with. Cheap when nothing was
/// loaded since the last time.
void find_linked_models();

/// The model whose code lies at `address`, kNoModel if none.
std::uint16_t model_at(const void* address);

/// Whether `address` lies in that model's code. Takes no lock.
bool is_in_model(std::uint16_t model, const void* address);

/// The file of a model; empty where it is gone.
std::string model_path(std::uint16_t model);

/// The op behind a number of the proxy executor.
const Name* proxy_op_name(std::uint16_t model, std::uint64_t index);

/// What PyTorch calls a kernel that a model launches: `cubin` is its image's file name without folder and
/// ending (empty if it was not a file), `function` the name in it.
const Name* launched_kernel_name(std::uint16_t model, std::string_view cubin, std::string_view function);

/// What level 2 needs of a model; nullptr where it is not measured. Never freed. Takes no lock.
MeasuredModel* measured_model(std::uint16_t model);

/// Keeps what the packages of all present models say (record/evidence), unless an option says otherwise.
/// Called at the first call that is recorded; later models are kept when they arrive. Writes files, holds no
/// lock.
void keep_evidence_of_models();

struct ModelCounts {
    std::uint64_t seen = 0;
    std::uint64_t unbound = 0;  // functions of theirs that are not seen
};
ModelCounts count_models();

}  // namespace aoti_dbg

#include "cli/replay/missing_inputs.hpp"

#include "base/clean_text.hpp"
#include "cli/tensor_files.hpp"

namespace aoti_dbg::cli {
namespace {

/// Returns the first tensor that is not saved before the launch, or an empty text.
std::string missing_input(const LaunchFile& file, TensorFiles& tensors) {
    for (const LaunchTensor& tensor : file.launch.tensors) {
        if (element_count(tensor.facts.sizes) == 0) continue;
        const auto saved = tensors.saved_at(
            {EventSide::before, file.launch.run, file.launch.call, tensor.position, tensor.label});
        if (!saved || !file.files->open(saved->file).ok()) return tensor.label;
    }
    return {};
}

}  // namespace

std::string remove_without_inputs(std::vector<LaunchFile>& files) {
    if (files.empty()) return {};
    TensorFiles tensors(files.front().events, files.front().files);
    std::string first;
    const std::size_t count = std::erase_if(files, [&](const LaunchFile& file) {
        const std::string label = missing_input(file, tensors);
        if (!label.empty() && first.empty()) first = clean_text(label) + " of " + place_of(file.launch);
        return !label.empty();
    });
    if (count == 0) return {};
    return std::to_string(count) + (count == 1 ? " launch has" : " launches have") +
           " no saved inputs: the program ended before they were saved, or their files were removed. The "
           "first is " +
           first;
}

}  // namespace aoti_dbg::cli

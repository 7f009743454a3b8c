// Copies of the modules that the program loads, until a captured launch needs one. The program may free its
// own copy once the driver has loaded it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace aoti_dbg {

using Image = std::shared_ptr<const std::vector<std::byte>>;

/// Call these only if launches are captured. `module` is the driver's handle.
void keep_image(const void* module, const void* image);
void keep_image_file(const void* module, const std::string& path);
void forget_image(const void* module);

/// Returns null if the image is unknown or too large.
Image image_of(const void* module);

}  // namespace aoti_dbg

// How many bytes the image of a module in memory has. The driver gets only its address.
#pragma once

#include <cstddef>

namespace aoti_dbg {

/// Returns 0 for a format that is not known: neither a cubin, a fatbin nor a text such as PTX. `image` must
/// be an image that the driver accepted.
std::size_t image_bytes(const void* image);

/// Returns the image itself: the wrapper of a fatbin points to it.
const void* unwrapped_image(const void* image);

}  // namespace aoti_dbg

#include "shim/capture/images.hpp"

#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/file_bytes.hpp"
#include "shim/capture/image_bytes.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20U;

// Never destroyed, because modules are loaded and unloaded until the process ends.
struct Images {
    std::mutex mutex;
    std::unordered_map<const void*, Image> of_module;
};

Images& images() {
    static auto* instance = new Images;
    return *instance;
}

void keep(const void* module, const std::byte* bytes, std::size_t count) {
    auto image = std::make_shared<const std::vector<std::byte>>(bytes, bytes + count);
    const std::lock_guard lock(images().mutex);
    images().of_module[module] = std::move(image);
}

}  // namespace

void keep_image(const void* module, const void* image) {
    if (image == nullptr) return;
    const void* const own = unwrapped_image(image);
    const std::size_t bytes = image_bytes(own);
    if (bytes != 0 && bytes <= kMostBytes) keep(module, static_cast<const std::byte*>(own), bytes);
}

void keep_image_file(const void* module, const std::string& path) {
    const Result<std::string> content = read_regular_file(path, "a module", kMostBytes);
    if (!content.ok()) return;
    const std::string& text = content.value();
    // The driver expects the end of a text.
    keep(module, reinterpret_cast<const std::byte*>(text.c_str()), text.size() + 1);
}

void forget_image(const void* module) {
    const std::lock_guard lock(images().mutex);
    images().of_module.erase(module);
}

Image image_of(const void* module) {
    const std::lock_guard lock(images().mutex);
    const auto found = images().of_module.find(module);
    return found == images().of_module.end() ? nullptr : found->second;
}

}  // namespace aoti_dbg

#include "serializer/ring_path.hpp"

namespace aoti_dbg {

std::string path_beside_ring(const std::string& ring, std::string_view what, std::string_view ending) {
    constexpr std::string_view kRing = "flight";
    constexpr std::string_view kRingEnding = ".ring";
    std::string path = ring;
    const std::size_t name = path.rfind('/') + 1;
    if (path.compare(name, kRing.size(), kRing) == 0) path.replace(name, kRing.size(), what);
    const std::size_t at = path.rfind(kRingEnding);
    if (at != std::string::npos && at >= name) path.erase(at, kRingEnding.size());
    return path.append(ending);
}

}  // namespace aoti_dbg

// Derives the names of the files beside a flight ring from the ring's path.
#pragma once

#include <string>
#include <string_view>

namespace aoti_dbg {

/// "out/flight-17.ring" -> "out/hang-17.json", for "hang" and ".json".
std::string path_beside_ring(const std::string& ring, std::string_view what, std::string_view ending);

}  // namespace aoti_dbg

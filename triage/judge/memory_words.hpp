// The words for memory at or near an address, and for a lack of memory. It has no side effects.
#pragma once

#include <string>
#include <string_view>

#include "serializer/allocation_map.hpp"

namespace aoti_dbg {

/// "cuMemAlloc"
std::string_view word_of(allocations::Way way);

/// "inside", "freed_later" and so on.
std::string_view word_of(NearMemory::Place place);

/// "inside", "behind", "before"
std::string_view word_of(NearTensor::Place place);

/// "512 bytes past the end of an allocation of 2 MiB on cuda:0 (cuMemAlloc)"
std::string near_text(const NearMemory& near);

/// "64 KiB past the end of buf5 (1 MiB, created in run 3, already freed)"
std::string near_text(const NearTensor& near);

/// "2 MiB on cuda:0, freed by cuMemFree 3 ms before the launch"
std::string freed_text(const NearMemory& near);

/// "12 GiB requested on cuda:0 (3 GiB of 139 GiB free)"
std::string shortage_text(const Shortage& shortage);

}  // namespace aoti_dbg

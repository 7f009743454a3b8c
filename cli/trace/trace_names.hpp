// The numbers of tracks and flows, and the categories of slices.
#pragma once

#include <cstdint>
#include <string_view>

#include "serializer/flight_ring_format.hpp"

namespace aoti_dbg::cli {

/// Returns the number of a track or flow, the same for the same arguments.
std::uint64_t trace_id(std::uint64_t process, std::uint64_t kind, std::uint64_t number);

/// Kinds for trace_id().
enum TraceIdKind : std::uint64_t {
    kProcess,
    kThread,
    kFindings,
    kNanCounter,
    kBytesCounter,
    kDevice,
    kStream,
    kFlow
};

/// Returns the category of a call's slice. The viewer filters and colors by it.
std::string_view category_of(ring::CallKind kind);

}  // namespace aoti_dbg::cli

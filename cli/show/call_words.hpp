// The words of `aoti-dbg show` for the calls in a flight ring.
#pragma once

#include <cstdint>
#include <string>

#include "serializer/flight_ring_reader.hpp"

namespace aoti_dbg::cli {

const char* word_for(ring::CallKind kind);

std::string state_of(const ring::Record& record);

/// Returns the number, or "-" if it is `none`.
std::string unless(std::uint32_t number, std::uint32_t none);

}  // namespace aoti_dbg::cli

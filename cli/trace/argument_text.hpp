// Renders an argument of a recorded call as one line for the details of a trace: dtype, sizes and statistics.
// Numbers are copied as events.jsonl has them, because parsing and printing them would take most of the time.
#pragma once

#include <cstdint>
#include <string>

#include "serializer/facts_cache.hpp"
#include "serializer/json_line.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg::cli {

/// What the line of an argument says besides its text.
struct ArgumentNumbers {
    std::uint64_t nan = 0;  // elements
    bool is_measured_here = false;
};

class ArgumentText {
  public:
    /// Appends "float32 [2, 2], mean 0.375, std 1.25, min -1, max 2, 3 NaN" and fills `numbers`. `object` is
    /// the argument in its line.
    void append(const MeasuredArgument& argument, const JsonLine::Value& object, ArgumentNumbers& numbers,
                std::string& out);
    /// Returns "buf0 (in_ptr0)" for an argument's name.
    static std::string key_of(const ArgumentFacts& facts);

  private:
    const std::string& layout_of(const TensorFacts& facts);

    FactsCache<std::string> layouts_;
};

/// Returns the bytes of a tensor's elements, or 0 if its sizes are unknown.
std::uint64_t bytes_of(const TensorFacts& facts);

}  // namespace aoti_dbg::cli

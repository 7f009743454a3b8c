// The names of one process's models in its trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "serializer/event_jsonl.hpp"
#include "serializer/flight_ring_reader.hpp"

namespace aoti_dbg::cli {

class ModelNames {
  public:
    /// Names the models as their runs in the ring do, for a recording without events. `ring` may be null.
    explicit ModelNames(const ring::Contents* ring);

    void add(const ModelFacts& model) { names_[model.number] = model.name; }
    [[nodiscard]] std::string of(std::uint32_t model) const;

  private:
    std::map<std::uint32_t, std::string> names_;
};

}  // namespace aoti_dbg::cli

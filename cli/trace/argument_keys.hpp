// The names of arguments in the details of a trace. A viewer shows only one of two equal names in a group, so
// further ones get a number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/trace/trace_packets.hpp"
#include "serializer/facts_cache.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg::cli {

class ArgumentKeys {
  public:
    explicit ArgumentKeys(TracePackets& packets) : packets_(packets) {}

    /// Starts a group, in which names are unique.
    void begin_group() { ++group_; }
    /// Returns the number of "buf0 (in_ptr0)" or, if the group has that name, of "buf0 (in_ptr0) #2".
    TextId key_of(const ArgumentFacts& facts);

  private:
    struct Key {
        std::uint32_t generation = ~0U;
        TextId id = 0;
    };
    struct Use {
        std::uint64_t group = 0;
        std::uint64_t count = 0;
    };

    TracePackets& packets_;
    FactsCache<Key> keys_;
    std::vector<Use> uses_;  // by the numbers of names, which are small
    std::uint64_t group_ = 0;
};

}  // namespace aoti_dbg::cli

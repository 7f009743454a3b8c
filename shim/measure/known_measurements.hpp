// The measurements of a run that may still be valid, by address and by name. A write to their memory ends
// them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/plain_list.hpp"
#include "shim/measure/kept_constants.hpp"
#include "shim/tensors/site_plan.hpp"
#include "shim/tensors/tensor_reader.hpp"

namespace aoti_dbg {

/// The place where the result of a measurement will be.
struct Measurement {
    std::uint64_t ticket = 0;  // of its first line
    std::uint32_t blocks = 0;
    std::uint32_t sequence = 0;
    std::uint32_t call = kNoCallNumber;  // the call that it was measured at
    std::uint32_t kept = kNotKept;       // where its result is kept, or will be if it is measured now
};

struct MemoryPart {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
};

/// Where the memory of a measured tensor begins and ends.
struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    [[nodiscard]] bool overlaps(const MemoryPart& memory) const {
        return begin < memory.address + memory.bytes && memory.address < end;
    }
};

/// A tensor and what is measured of it.
struct MeasuredTensor {
    std::uint64_t address = 0;
    std::uint64_t likeness = 0;
    Requested requested = Requested::nothing;
    Measurement measurement;

    [[nodiscard]] bool is(const SeenTensor& seen, Requested what) const {
        return address == seen.address && requested == what && likeness == seen.facts->likeness_for(what);
    }
};

class KnownMeasurements {
  public:
    /// Finds a measurement whose ticket is at least `valid_since`. If `by_name`, it must have the argument's
    /// name.
    bool find(const PlannedArgument& argument, const SeenTensor& seen, Requested requested, bool by_name,
              std::uint64_t valid_since, Measurement& found) const {
        for (std::size_t i = newest_[place_of(seen.address)]; i != kNoNumber; i = known_[i].older) {
            const Known& known = known_[i];
            if (!known.is(seen, requested)) continue;
            if (by_name && known.name != argument.name_number) continue;
            if (known.measurement.ticket < valid_since) continue;
            found = known.measurement;
            return true;
        }
        return false;
    }
    /// Finds a measurement of a whole tensor with the argument's name, and sets `seen` to that tensor.
    bool find_named(const PlannedArgument& argument, Requested requested, std::uint64_t valid_since,
                    SeenTensor& seen, Measurement& found) const;
    /// Does nothing if it has too many.
    void add(const PlannedArgument& argument, const SeenTensor& seen, Requested requested,
             const Measurement& measurement);

    void forget_in(const MemoryPart& memory) {
        if (hull_.overlaps(memory)) forget_overlapping(memory);
    }
    /// Forgets all that other launches measure.
    void forget_all_but(std::uint32_t sequence);
    void forget_all();

  private:
    static constexpr std::size_t kPlaces = 256;
    static constexpr std::uint16_t kNoNumber = 0xffff;
    /// The newest measurement at each place of a hash table. Each has the number of the next older one.
    using Newest = std::array<std::uint16_t, kPlaces>;
    static constexpr Newest none() {
        Newest none{};
        none.fill(kNoNumber);
        return none;
    }
    static std::size_t place_of(std::uint64_t address) {
        return (address >> 8U ^ address >> 14U ^ address >> 21U) % kPlaces;
    }
    static std::size_t place_of_name(std::uint32_t number) { return number % kPlaces; }
    struct Known : MeasuredTensor {
        std::uint32_t name = kNone;
        const SeenFacts* facts = nullptr;  // null for a view; belongs to the thread of the run
        std::uint16_t older = kNoNumber;   // at the same place of newest_
        std::uint16_t older_named = kNoNumber;
    };

    void forget_overlapping(const MemoryPart& memory);
    void forget(std::size_t i);
    void link(std::size_t i);
    /// Takes the measurement out of both tables.
    void unlink(std::size_t i);

    PlainList<Known> known_;
    PlainList<Extent> extents_;     // of `known_`; separate, because writes search all
    Extent hull_{UINT64_MAX, 0};    // of all extents since forget_all()
    Newest newest_ = none();        // by address
    Newest newest_named_ = none();  // by name
};

}  // namespace aoti_dbg

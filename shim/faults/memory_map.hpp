// The mappings of this process, read from /proc. It must not use the loader's tables, because a thread that
// hangs may have locked them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace aoti_dbg {

struct Mapping {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;  // in the file
    bool is_code = false;      // executable
    std::string path;          // "[stack]" or similar if it is not a file; may be empty

    /// Returns the path or its last part, and the offset in the file: "libc.so.6+0x98d61".
    [[nodiscard]] std::string place_of(std::uint64_t address, bool with_folder) const;
};

class MemoryMap {
  public:
    /// Returns the current mappings, or none if /proc does not provide them.
    static MemoryMap of_this_process();
    /// Returns null if nothing is mapped there.
    [[nodiscard]] const Mapping* find(std::uint64_t address) const;

  private:
    std::vector<Mapping> mappings_;  // by address
};

}  // namespace aoti_dbg

// The mappings of this process, read from /proc: the loader's own tables may be locked by a thread that
// hangs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace aoti_dbg {

struct Mapping {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;  // in the file
    bool is_code = false;      // may be executed
    std::string path;          // "[stack]" and the like where it is no file; may be empty

    /// The path, or the last part of it, and how far into the file: "libc.so.6+0x98d61".
    [[nodiscard]] std::string place_of(std::uint64_t address, bool with_folder) const;
};

class MemoryMap {
  public:
    /// As it is now; empty where /proc does not say.
    static MemoryMap of_this_process();
    /// Null where nothing is mapped.
    [[nodiscard]] const Mapping* find(std::uint64_t address) const;

  private:
    std::vector<Mapping> mappings_;  // by address
};

}  // namespace aoti_dbg

// Writes hang.json of a process, next to its flight recorder ring: the current hang (serializer/hang). Only
// one thread may write it.
#pragma once

#include <string>

#include "base/status.hpp"
#include "serializer/hang.hpp"

namespace aoti_dbg {

class HangFile {
  public:
    /// `ring` is the path of the flight recorder ring.
    explicit HangFile(const std::string& ring) : path_(hang_path(ring)) {}

    /// Replaces the previous file. The file gets its name when it is complete.
    Status write(const Hang& hang) const;
    void remove() const;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace aoti_dbg

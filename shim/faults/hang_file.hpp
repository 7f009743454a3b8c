// hang.json of a process, beside its flight ring: what hangs now (serializer/hang). One thread writes it.
#pragma once

#include <string>

#include "base/status.hpp"
#include "serializer/hang.hpp"

namespace aoti_dbg {

class HangFile {
  public:
    /// `ring` is the path of the flight ring.
    explicit HangFile(const std::string& ring) : path_(hang_path(ring)) {}

    /// In place of what was written before; it has its name when it is whole.
    Status write(const Hang& hang) const;
    void remove() const;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace aoti_dbg

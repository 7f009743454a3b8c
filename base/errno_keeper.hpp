// Work that must leave errno as it found it: hooks, and messages out of them. Nothing else belongs here.
#pragma once

#include <cerrno>

namespace aoti_dbg {

/// Puts errno back at the end of its scope.
class ErrnoKeeper {
  public:
    ErrnoKeeper() : kept_(errno) {}
    ~ErrnoKeeper() { errno = kept_; }
    ErrnoKeeper(const ErrnoKeeper&) = delete;
    ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

  private:
    int kept_;
};

}  // namespace aoti_dbg

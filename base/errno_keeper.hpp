// Preserves errno across work in hooks and in the messages that they print. Nothing else belongs here.
#pragma once

#include <cerrno>

namespace aoti_dbg {

/// Restores errno at the end of its scope.
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

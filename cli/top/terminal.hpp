// The terminal of a live display: its width, single keys, and Ctrl-C. It restores what it changes.
#pragma once

#include <termios.h>

#include <cstddef>

namespace aoti_dbg::cli {

class LiveTerminal {
  public:
    /// Reads keys from standard input if that is a terminal.
    LiveTerminal();
    ~LiveTerminal();
    LiveTerminal(const LiveTerminal&) = delete;
    LiveTerminal& operator=(const LiveTerminal&) = delete;

    /// True if standard output is a terminal that can be cleared.
    [[nodiscard]] static bool is_possible();
    [[nodiscard]] static std::size_t columns();
    [[nodiscard]] static std::size_t rows();
    /// Returns true if the user pressed q or Ctrl-C within that time.
    [[nodiscard]] bool waits_to_quit(int milliseconds);

  private:
    bool reads_keys_ = false;
    termios before_{};
};

}  // namespace aoti_dbg::cli

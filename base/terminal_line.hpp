// A status line at the bottom of the terminal that standard error refers to. It is rewritten in place and
// erased before the library prints anything else. Each change is one write(2). The line itself never waits
// for a stopped terminal (Ctrl-S).
//
// The program's own output continues right after the line, because the cursor position is unknown.
#pragma once

#include <string_view>

namespace aoti_dbg {

/// Returns whether a status line is possible. Standard error must be a terminal that can erase a line, and it
/// must have been open at process start. From then on all printing takes the line into account. Call this
/// some time before the first show_terminal_line().
bool open_terminal_line();

/// Replaces the line by `text`, which is printable ASCII, cut to the width of the terminal. Does nothing
/// before open_terminal_line(), or while another thread prints or waits to print. Does nothing if standard
/// error is no longer a terminal or the process is in the background.
void show_terminal_line(std::string_view text);

void hide_terminal_line();

/// Hides the line and ignores all later requests to show one. A signal handler may call this on the way out.
void close_terminal_line();

/// Guards printing to `descriptor`. If it is a terminal, the line is erased and stays hidden while this
/// object lives. Waits only a moment and keeps errno.
class TerminalLineAway {
  public:
    explicit TerminalLineAway(int descriptor);
    ~TerminalLineAway();
    TerminalLineAway(const TerminalLineAway&) = delete;
    TerminalLineAway& operator=(const TerminalLineAway&) = delete;

  private:
    bool has_lock_ = false;
};

}  // namespace aoti_dbg

// One line about what goes on, at the bottom of the terminal that standard error is: rewritten in place, and
// gone before anything else of ours is printed there. Each change is one write(2). Nobody waits for a
// terminal that stands still (Ctrl-S), but who prints something else to it.
//
// What the program prints meanwhile goes behind the line, since where its cursor is, nobody can know.
#pragma once

#include <string_view>

namespace aoti_dbg {

/// Whether there may be such a line at all: standard error is a terminal that can erase one, and was open
/// when the process started. From here on all that is printed takes care of it, so it is to be called some
/// time before the first one is shown.
bool open_terminal_line();

/// Shows `text`, printable ASCII, as much of it as the terminal is wide, in place of what is shown. Does
/// nothing before open_terminal_line(), while others print or wait to, and where standard error is no
/// terminal any more or the process in the background.
void show_terminal_line(std::string_view text);

void hide_terminal_line();

/// The same, and none is shown from here on, whoever asks for it. May be called by a signal handler on the
/// way out.
void close_terminal_line();

/// For who prints to `descriptor`: if that is a terminal the line is gone, and stays away while this lives.
/// Waits a moment at most; keeps errno.
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

// Replaces standard error by a terminal for a while and reads its screen.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/terminal_line.hpp"
#include "tests/support/on_terminal.hpp"

namespace aoti_dbg::test {

using Lines = std::vector<std::string>;

/// Replaces standard error for its own lifetime.
class StandardError {
  public:
    explicit StandardError(int other) : kept_(dup(STDERR_FILENO)) { dup2(other, STDERR_FILENO); }
    ~StandardError() {
        close_terminal_line();
        dup2(kept_, STDERR_FILENO);
        close(kept_);
    }
    StandardError(const StandardError&) = delete;
    StandardError& operator=(const StandardError&) = delete;

  private:
    int kept_;
};

/// Makes standard error a terminal with the given number of columns.
class AtTerminal {
  public:
    explicit AtTerminal(unsigned short columns = 40)
        : terminal(columns),
          program_(open(terminal.name().c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC)),
          error_(program_) {
        setenv("TERM", "xterm", 1);
    }
    ~AtTerminal() { close(program_); }
    AtTerminal(const AtTerminal&) = delete;
    AtTerminal& operator=(const AtTerminal&) = delete;

    [[nodiscard]] int program() const { return program_; }
    Lines screen() {
        while (terminal.read_more(0)) {
        }
        return terminal.screen();
    }
    std::string shown() {
        (void)screen();
        return terminal.shown();
    }

    Terminal terminal;

  private:
    int program_;
    StandardError error_;
};

}  // namespace aoti_dbg::test

// A program on a terminal of its own, in whose foreground it runs: what it shows there, and what is typed.
// Standard output goes elsewhere, to be compared. Must leave nothing behind: no process, no descriptor.
#pragma once

#include <string>
#include <vector>

#include "tests/support/run_program.hpp"

namespace aoti_dbg::test {

/// A terminal of so many columns (0: it does not say, and has 80); the program's side is opened by name.
class Terminal {
  public:
    explicit Terminal(unsigned short columns = 100);
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    [[nodiscard]] const std::string& name() const { return name_; }
    void type(const std::string& keys) const;
    /// Waits for more to be shown. False where there is none by then, or the program's side is closed.
    bool read_more(int milliseconds);
    [[nodiscard]] const std::string& shown() const { return shown_; }
    /// What stands on it: lines after carriage returns, erasures and line breaks have done their work.
    [[nodiscard]] std::vector<std::string> screen() const;

  private:
    int number_ = -1;
    unsigned short columns_;
    std::string name_;
    std::string shown_;
};

class OnTerminal {
  public:
    /// `env` as run_program has it.
    OnTerminal(const std::vector<std::string>& argv, const Variables& env, const std::string& cwd);
    ~OnTerminal();
    OnTerminal(const OnTerminal&) = delete;
    OnTerminal& operator=(const OnTerminal&) = delete;

    /// False where it does not come, neither after a minute nor before the program ends.
    bool shows(const std::string& text);
    void type(const std::string& keys) const { terminal_.type(keys); }
    /// Waits for its end. `err` is all that was shown.
    Outcome end();
    [[nodiscard]] std::vector<std::string> screen() const { return terminal_.screen(); }

  private:
    Terminal terminal_{1000};
    pid_t child_ = -1;
    int out_ = -1;
};

}  // namespace aoti_dbg::test

// Runs a program in the foreground of its own terminal, to test what it shows there and what is typed.
// Standard output goes elsewhere for comparison. It must leave behind no process and no descriptor.
#pragma once

#include <string>
#include <vector>

#include "tests/support/run_program.hpp"

namespace aoti_dbg::test {

/// A terminal with that many columns. With 0 it does not report its width and has 80. The program opens its
/// side by name.
class Terminal {
  public:
    explicit Terminal(unsigned short columns = 100);
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    [[nodiscard]] const std::string& name() const { return name_; }
    void type(const std::string& keys) const;
    /// Waits for more output. Returns false if none arrives in time or the program closed its side.
    bool read_more(int milliseconds);
    [[nodiscard]] const std::string& shown() const { return shown_; }
    /// The visible lines, after carriage returns, erasures and line breaks have taken effect.
    [[nodiscard]] std::vector<std::string> screen() const;

  private:
    int number_ = -1;
    unsigned short columns_;
    std::string name_;
    std::string shown_;
};

class OnTerminal {
  public:
    /// `env` works as in run_program().
    OnTerminal(const std::vector<std::string>& argv, const Variables& env, const std::string& cwd);
    ~OnTerminal();
    OnTerminal(const OnTerminal&) = delete;
    OnTerminal& operator=(const OnTerminal&) = delete;

    /// Returns false if the text does not appear within a minute or before the program ends.
    bool shows(const std::string& text);
    void type(const std::string& keys) const { terminal_.type(keys); }
    /// Waits for the program to end. `err` has everything that it showed.
    Outcome end();
    [[nodiscard]] std::vector<std::string> screen() const { return terminal_.screen(); }

  private:
    Terminal terminal_{1000};
    pid_t child_ = -1;
    int out_ = -1;
};

}  // namespace aoti_dbg::test

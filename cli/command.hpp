// A command of aoti-dbg: one class in its own folder, which declares its flags, keeps their values as typed,
// and runs. commands.cpp has the list.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "cli/command_line.hpp"
#include "cli/usage_errors.hpp"

namespace aoti_dbg::cli {

class Command {
  public:
    explicit Command(std::string name, int wrong_usage = kWrongUsage)
        : name_(std::move(name)), wrong_usage_(wrong_usage) {}
    virtual ~Command() = default;
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    [[nodiscard]] const std::string& name() const { return name_; }

    /// Declares the command, with its flags, help and examples. The parser keeps references to the members
    /// that take the values.
    virtual void add_to(CLI::App& app) = 0;

    /// Removes from `arguments`, which begin with the command's name, those of a program that the command
    /// starts. The parser must not read them.
    virtual Status take_program([[maybe_unused]] std::vector<std::string>& arguments) { return {}; }

    /// Whether the arguments after the flags are a program with its own arguments.
    [[nodiscard]] virtual bool starts_program() const { return false; }

    /// Returns the words that an option or argument accepts, for the completion in a shell. Empty if they are
    /// unknown.
    [[nodiscard]] const std::vector<std::string>& words_of(const CLI::Option& option) const {
        static const std::vector<std::string> none;
        const auto found = words_.find(&option);
        return found == words_.end() ? none : found->second;
    }

    /// Executes the command, after parsing. Returns the exit code.
    virtual int run() = 0;

    /// Prints what is wrong with the command line. Returns the exit code.
    [[nodiscard]] int refuse(std::string_view fault) const {
        cli::refuse(name_, fault);
        return wrong_usage_;
    }

  protected:
    /// `examples` follow the flags in the help.
    [[nodiscard]] CLI::App& declare(CLI::App& app, const char* description, const char* examples) const {
        return add_command(app, name_, description, examples);
    }

    void accepts(const CLI::Option& option, std::vector<std::string> words) {
        words_[&option] = std::move(words);
    }

  private:
    std::string name_;
    int wrong_usage_;
    std::map<const CLI::Option*, std::vector<std::string>> words_;
};

}  // namespace aoti_dbg::cli

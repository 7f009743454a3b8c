// The flags of `aoti-dbg run`. Those in the option table become variables of the program.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "config/options_table.hpp"

namespace aoti_dbg::cli {

struct RunRequest;

class RunCommand final : public Command {
  public:
    RunCommand();
    void add_to(CLI::App& app) override;
    Status take_program(std::vector<std::string>& arguments) override;
    [[nodiscard]] bool starts_program() const override { return true; }
    int run() override;

  private:
    /// A flag that sets a variable.
    struct OptionFlag {
        const OptionInfo* info;
        std::string value;
        CLI::Option* option;
    };

    /// Declares a flag of own_flags().
    void add_own(std::string_view name, std::string& value, std::vector<std::string> words);

    /// These store flags in the request and return what is wrong with them, or an empty string.
    std::string read_variables(RunRequest& request) const;
    std::string read_own_flags(RunRequest& request) const;
    std::string read_junit(RunRequest& request) const;

    CLI::App* app_ = nullptr;
    std::list<OptionFlag> options_;  // a list, because the parser refers to the values
    std::string require_;
    std::string error_exitcode_;
    std::string annotate_ = "none";
    std::string junit_;
    bool verifies_captures_ = false;
    std::vector<std::string> program_;
};

}  // namespace aoti_dbg::cli

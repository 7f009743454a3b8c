// Formats the help of each command, at most 80 columns wide. The help of `run` comes from run_help().
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace aoti_dbg::cli {

class HelpFormatter : public CLI::Formatter {
  public:
    HelpFormatter();
    std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
    std::string make_usage(const CLI::App* app, std::string name) const override;
    std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace aoti_dbg::cli

// Formats the help of a command, at most 80 columns wide. Hidden flags and arguments are left out.
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

// The flags of `aoti-dbg report`. The library also starts the command, with hidden flags, after an abnormal
// exit if no `run` waits for the process.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace aoti_dbg::cli {

class ReportCommand final : public Command {
  public:
    ReportCommand() : Command("report") {}
    void add_to(CLI::App& app) override;
    int run() override;

  private:
    [[nodiscard]] int run_html() const;

    std::string torch_trace_;
    std::string folder_ = "aoti_dbg/latest";
    std::string process_;  // a pid if the library started the command
    std::string since_unix_ns_;
    std::string status_;
    std::string signal_;
    std::vector<std::string> program_;
    std::string output_;
    bool is_start_ = false;
    bool is_html_ = false;
    bool is_confidential_ = false;
};

}  // namespace aoti_dbg::cli

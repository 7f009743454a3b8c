// `aoti-dbg explain CODE`: explains a finding or a crash class, with an example and a remedy.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace aoti_dbg::cli {

class ExplainCommand final : public Command {
  public:
    ExplainCommand() : Command("explain") {}
    void add_to(CLI::App& app) override;
    int run() override;

  private:
    std::string code_;
};

}  // namespace aoti_dbg::cli

// `aoti-dbg diff FIRST SECOND`: says where two recorded runs part.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace aoti_dbg::cli {

class DiffCommand final : public Command {
  public:
    DiffCommand() : Command("diff") {}
    void add_to(CLI::App& app) override;
    int run() override;

  private:
    std::string first_;
    std::string second_;
    std::string runs_;
    std::string format_ = "text";
};

}  // namespace aoti_dbg::cli

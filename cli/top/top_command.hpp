// The flags of `aoti-dbg top`.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace aoti_dbg::cli {

class TopCommand final : public Command {
  public:
    TopCommand() : Command("top") {}
    void add_to(CLI::App& app) override;
    int run() override;

  private:
    std::string place_ = "aoti_dbg";
    std::string limit_;
    std::string format_ = "text";
};

}  // namespace aoti_dbg::cli

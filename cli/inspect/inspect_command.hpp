// The flags of `aoti-dbg inspect`.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace aoti_dbg::cli {

class InspectCommand final : public Command {
  public:
    InspectCommand() : Command("inspect") {}
    void add_to(CLI::App& app) override;
    int run() override;

  private:
    std::string model_;
    std::string kernel_;
    std::string format_ = "text";
    bool all_ = false;
};

}  // namespace aoti_dbg::cli

// The flags of `aoti-dbg trace`.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace aoti_dbg::cli {

class TraceCommand final : public Command {
  public:
    TraceCommand() : Command("trace") {}
    void add_to(CLI::App& app) override;
    int run() override;

  private:
    std::string place_ = "aoti_dbg";
    std::string output_;
    std::string torch_trace_;
};

}  // namespace aoti_dbg::cli

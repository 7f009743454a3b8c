// The flags of `aoti-dbg doctor`.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace aoti_dbg::cli {

class DoctorCommand final : public Command {
  public:
    DoctorCommand() : Command("doctor") {}
    void add_to(CLI::App& app) override;
    int run() override;

  private:
    bool fault_ = false;
    std::string format_ = "text";
    std::string seconds_ = "30";
    std::string child_;  // the trial to run, for the command's own child
};

}  // namespace aoti_dbg::cli

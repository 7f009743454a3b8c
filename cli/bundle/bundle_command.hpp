// `aoti-dbg bundle --output FILE DIR`: writes captured launches to one file.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace aoti_dbg::cli {

class BundleCommand final : public Command {
  public:
    BundleCommand() : Command("bundle") {}
    void add_to(CLI::App& app) override;
    int run() override;

  private:
    std::string place_ = "aoti_dbg";
    std::string runs_;
    std::string calls_;
    std::string output_;
    bool is_redacted_ = false;
};

}  // namespace aoti_dbg::cli

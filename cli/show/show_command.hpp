// The flags of `aoti-dbg show`, which also pick the reader.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace aoti_dbg::cli {

class ShowCommand final : public Command {
  public:
    ShowCommand() : Command("show") {}
    void add_to(CLI::App& app) override;
    int run() override;

  private:
    /// Describes contradictory flags. Empty if there are none.
    [[nodiscard]] std::string contradiction() const;

    std::string place_ = "aoti_dbg";
    bool all_ = false;
    bool follow_ = false;
    // Empty if not given.
    std::string last_;
    std::string thread_;
    std::string format_;
    std::string torch_trace_;
};

}  // namespace aoti_dbg::cli

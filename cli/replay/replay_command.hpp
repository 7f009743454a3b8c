// `aoti-dbg replay DIR`: runs captured launches again.
#pragma once

#include <string>

#include "cli/command.hpp"
#include "cli/replay/replay.hpp"

namespace aoti_dbg::cli {

class ReplayCommand final : public Command {
  public:
    ReplayCommand() : Command("replay") {}
    void add_to(CLI::App& app) override;
    int run() override;

  private:
    Status parse(ReplayRequest& request) const;

    std::string place_ = "aoti_dbg";
    std::string runs_;
    std::string calls_;
    std::string times_;
    bool is_guarded_ = false;
    std::string poison_;
    std::string rtol_;
    std::string atol_;
    bool is_timed_ = false;
    bool stops_ = false;
    std::string code_;
    std::string level_;
    std::string python_;
    std::string minimize_;
    bool is_inspection_ = false;
};

}  // namespace aoti_dbg::cli

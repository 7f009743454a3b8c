// `aoti-dbg diff FIRST SECOND`: says where two recorded runs part.
#pragma once

#include <string>

#include "cli/command.hpp"
#include "cli/diff/diff.hpp"

namespace aoti_dbg::cli {

class DiffCommand final : public Command {
  public:
    DiffCommand() : Command("diff") {}
    void add_to(CLI::App& app) override;
    int run() override;

  private:
    /// Fills the request, or says what is wrong with the flags.
    Status read(DiffRequest& request) const;
    Status read_runs(DiffRequest& request) const;
    Status read_rule(DiffRequest& request) const;

    std::string first_;
    std::string second_;
    std::string ranks_;
    std::string against_;
    std::string runs_;
    std::string kernels_;
    std::string tolerance_ = "auto";
    std::string rtol_;
    std::string atol_;
    std::string fail_on_ = "tolerance";
    std::string limit_;
    std::string format_ = "text";
};

}  // namespace aoti_dbg::cli

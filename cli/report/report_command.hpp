// The flags of `aoti-dbg report`. The library also starts the command, with hidden flags, after an abnormal
// exit if no `run` waits for the process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace aoti_dbg::cli {

class ReportCommand final : public Command {
  public:
    ReportCommand() : Command("report") {}
    void add_to(CLI::App& app) override;
    int run() override;

  private:
    std::string folder_ = "aoti_dbg/latest";
    pid_t pid_ = 0;  // not 0 if the library started the command
    std::uint64_t since_unix_ns_ = 0;
    std::string status_;
    std::string signal_;
    std::vector<std::string> program_;
    bool is_start_ = false;
};

}  // namespace aoti_dbg::cli
